"""What came back, in a real browser: found without scripts, read, followed to its email; on a phone, light and dark."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.furnish import furnish
from tests.browser.house import House
from tests.browser.outreach import LINKS, WORKSPACE, outreach
from tests.browser.returned import HOSTILE, answered, come_back

PAGE = "/admin/returns"


@pytest.fixture(autouse=True)
def links(monkeypatch: pytest.MonkeyPatch) -> None:
    """What links to unsubscribe are made with."""
    for name, value in LINKS.items():
        monkeypatch.setenv(name, value)


def test_a_bounce_is_found_read_and_followed_without_any_script(house: House, plain_page: Page) -> None:
    furnish(house)
    come_back(house)
    page = plain_page
    page.goto(house.address("/admin"))
    page.get_by_role("link", name="Returns").click()
    expect(page.get_by_role("heading", name="What came back")).to_be_visible()
    page.get_by_role("searchbox", name="Search").fill("ANNIE@example.org")
    page.get_by_label("Kind").select_option("Bounced")
    page.get_by_role("button", name="Search").click()
    row = page.get_by_role("row").nth(1)
    expect(row).to_contain_text("there is no such mailbox (550 5.1.1)")
    row.get_by_role("link", name="everything about it").click()
    expect(page.get_by_role("heading", name="annie@example.org")).to_be_visible()
    expect(page.get_by_role("region", name="The message").first).to_contain_text("Final-Recipient: rfc822")
    page.get_by_role("link", name="What came back").click()
    expect(page.get_by_role("searchbox", name="Search")).to_have_value("ANNIE@example.org")
    page.get_by_role("link", name="suppressed: hard bounce").click()
    expect(page.get_by_role("row", name="annie@example.org")).to_be_visible()


def test_what_nobody_can_read_is_shown_as_text_and_downloaded_as_it_came(
    house: House, page: Page, tmp_path: Path
) -> None:
    furnish(house)
    come_back(house)
    page.goto(house.address(PAGE))
    page.get_by_role("navigation", name="Which of it").get_by_role("link", name="Unclear").click()
    page.get_by_role("link", name="unreadable").click()
    expect(page.locator("pre.source")).to_contain_text(f"{HOSTILE} \N{REPLACEMENT CHARACTER}gnp.exe")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    download.value.save_as(tmp_path / "message")

    assert download.value.suggested_filename.endswith(".txt")
    assert (tmp_path / "message").read_bytes().startswith(b"Subject: <script>")


def test_the_story_of_a_prospect_leads_to_what_came_back(house: House, plain_page: Page) -> None:
    outreach(house)
    prospect = answered(house)
    page = plain_page
    page.goto(house.address(f"/admin/campaigns/spring/prospects/{prospect}?workspace={WORKSPACE}"))
    story = page.get_by_role("region", name="What happened")
    titles = [text for text in story.locator("li b").all_inner_texts() if not text.startswith("Stopped")]
    assert titles == ["Step 1 was sent", "Bounced", "Delivered", "Autoresponded", "Paused", "Resumed", "Replied"]
    expect(story).to_contain_text("Stopped: replied")
    expect(story).to_contain_text("back on 7 Dec 2026")
    story.get_by_role("link", name="What came back: Replied").click()
    expect(page.get_by_role("link", name="step 1 of spring")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_nothing_is_wider_than_the_screen_and_every_link_can_be_hit(
    house: House, browser: Browser, scheme: str
) -> None:
    furnish(house)
    outreach(house)
    come_back(house)
    prospect = answered(house)
    context = browser.new_context(viewport={"width": 360, "height": 740}, color_scheme=scheme)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(house.address(PAGE))
    each = [link.get_attribute("href") for link in page.locator(".came > a").all()]
    for path in (PAGE, f"{PAGE}?unclear=1", f"{PAGE}?q=nobody@x.org", *each,
                 f"/admin/campaigns/spring/prospects/{prospect}?workspace={WORKSPACE}"):  # fmt: skip
        page.goto(house.address(str(path)))
        page.wait_for_load_state("load")  # with its styles
        assert page.evaluate("document.documentElement.scrollWidth") == 360, path
    page.goto(house.address(PAGE))
    page.wait_for_load_state("load")
    heights = page.evaluate(
        "[...document.querySelectorAll('.returns a')].map(each => each.getBoundingClientRect().height)"
    )
    assert min(heights) >= 44
    context.close()

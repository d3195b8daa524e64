"""Who is not to be mailed, in a real browser: added, found, removed, imported; with scripts and without, on a phone."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, FilePayload, Page, expect

from postroom.store.suppressions import suppressions
from tests.browser.furnish import furnish, stop_some
from tests.browser.house import House
from tests.browser.phone import check_on_phone, phone

PAGE = "/admin/suppressions"


def addresses(house: House) -> list[str]:
    return [entry.address for entry in house.outbox.database.run(suppressions(limit=100), writes=False)]


def a_list(text: str) -> FilePayload:
    return {"name": "list.csv", "mimeType": "text/csv", "buffer": text.encode()}


def test_an_address_is_added_found_and_removed_without_any_script(house: House, plain_page: Page) -> None:
    page = plain_page
    page.goto(house.address("/admin"))
    page.get_by_role("link", name="Suppressions").click()
    expect(page.get_by_text("Everybody may be mailed")).to_be_visible()
    form = page.get_by_role("region", name="Add an address")
    form.get_by_label("Address").fill("Ada@example.org")
    form.get_by_label("What is stopped").select_option("Mail of one workspace that can be unsubscribed from")
    form.get_by_label("Workspace").fill("hotel")
    form.get_by_label("Why").select_option("unsubscribe")
    form.get_by_label("What shows it").fill("a letter")
    form.get_by_role("button", name="Add").click()
    told = "From now on, ada@example.org gets no mail of workspace hotel that can be unsubscribed from."
    expect(page.get_by_text(told)).to_be_visible()
    assert addresses(house) == ["ada@example.org"]

    page.get_by_role("searchbox", name="Search").fill("DA@EX")
    page.get_by_role("button", name="Search").click()
    row = page.get_by_role("row", name="ada@example.org")
    expect(row).to_contain_text("mail of workspace hotel that can be unsubscribed from")
    row.get_by_role("button", name="Remove the entry of ada@example.org").click()
    expect(page.get_by_text("The person has said no")).to_be_visible()
    page.get_by_role("button", name="They have asked for it: remove").click()
    expect(page.get_by_text("No entry matches")).to_be_visible()
    assert addresses(house) == []


def test_a_list_is_imported_and_exported(house: House, page: Page, tmp_path: Path) -> None:
    page.goto(house.address(PAGE))
    page.get_by_label("File").set_input_files(a_list("address,reason\nada@example.org,complaint\nnobody,\n"))
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_text("2 lines: 1 added, 0 known already, 1 refused.")).to_be_visible()
    expect(page.get_by_role("list", name="Refused lines")).to_contain_text("Line 3 address: 'nobody' is not")
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    download.value.save_as(tmp_path / "list.csv")

    assert download.value.suggested_filename == "suppressions.csv"
    assert (tmp_path / "list.csv").read_text("utf-8").splitlines()[1].startswith("ada@example.org,complaint,all,")


def test_on_a_phone_nothing_is_wider_than_the_screen_and_everything_can_be_hit(house: House, browser: Browser) -> None:
    furnish(house)
    stop_some(house)
    with phone(browser) as page:
        for path in (f"{PAGE}?q=nobody-has-this", PAGE):
            page.goto(house.address(path))
            check_on_phone(page)
        page.get_by_role("button", name="Remove the entry of a.very.long").click()
        expect(page.get_by_role("heading", name="Remove this entry?")).to_be_visible()
        check_on_phone(page)

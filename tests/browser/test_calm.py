"""Nothing on the desk moves under a finger, a pointer or a focus, and no key acts on what nobody has marked."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Browser, Locator, Page, Response, expect

from postroom import Email
from tests.browser.house import House
from tests.browser.test_desk import DEAD, QUEUE, press

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
PHONE = {"width": 390, "height": 844}


def place(found: Locator) -> tuple[float, float]:
    box = found.bounding_box()
    assert box is not None
    return box["x"], box["y"]


def news(house: House, subject: str = "Just in") -> None:
    """Something that stands at the top of the list, above everything else."""
    house.outbox.enqueue(Email(to="mary@example.org", subject=subject, text="…"))


@pytest.fixture(autouse=True)
def own_clock(page: Page) -> None:
    """The page's clock ticks as any other, and goes on by seconds when told so."""
    page.clock.install(time=NOON)


def is_look(answer: Response) -> bool:
    return answer.request.headers.get("x-postroom-refresh") == "1"


def look(page: Page) -> None:
    """Have the page look for news now. It looks again only when it is done with what it saw, so twice is once."""
    expect(page.locator("[data-help]")).to_be_visible()  # our script is there
    for _ in range(2):
        with page.expect_response(is_look):
            page.clock.fast_forward(3_000)


def of_ada(page: Page, act: str) -> Locator:
    return page.get_by_role("button", name=f"{act} «For ada@example.org»")


def test_a_row_with_the_focus_stays_where_it_is_until_somebody_wants_the_news(house: House, page: Page) -> None:
    house.refuse("ada@example.org", "grace@example.org")
    page.goto(house.address(QUEUE))
    of_ada(page, "Retry").focus()
    before = place(of_ada(page, "Retry"))
    news(house)
    look(page)

    expect(page.get_by_role("button", name="This page has news")).to_be_visible()
    assert page.get_by_role("link", name="Just in").count() == 0
    assert place(of_ada(page, "Retry")) == before
    expect(of_ada(page, "Retry")).to_be_focused()
    press(page, "n")
    expect(page.get_by_role("link", name="Just in")).to_be_visible()
    expect(of_ada(page, "Retry")).to_be_focused()
    expect(page.get_by_role("button", name="This page has news")).to_be_hidden()


def test_the_news_comes_by_itself_once_the_focus_has_left(house: House, page: Page) -> None:
    house.refuse("ada@example.org")
    page.goto(house.address(QUEUE))
    of_ada(page, "Dismiss").focus()
    news(house)
    look(page)
    assert page.get_by_role("link", name="Just in").count() == 0
    page.get_by_label("Search", exact=True).focus()
    look(page)

    expect(page.get_by_role("link", name="Just in")).to_be_visible()
    expect(page.get_by_label("Search", exact=True)).to_be_focused()


def test_nothing_moves_under_a_pointer_that_is_at_work(house: House, page: Page) -> None:
    house.refuse("ada@example.org")
    page.goto(house.address(QUEUE))
    before = place(of_ada(page, "Dismiss"))
    expect(page.locator("[data-help]")).to_be_visible()  # our script is there
    with page.expect_response(is_look):
        page.clock.pause_at(NOON + timedelta(hours=1))  # however long it takes us, the hand has just moved
    look(page)  # the hour that was passed over had a look of its own, which must not find the news
    news(house)
    for step in range(2):
        page.mouse.move(before[0] + 3 + step, before[1] + 3)
        with page.expect_response(is_look):
            page.clock.fast_forward(3_000)

    assert place(of_ada(page, "Dismiss")) == before
    expect(page.get_by_role("button", name="This page has news")).to_be_visible()
    assert page.get_by_role("link", name="Just in").count() == 0
    page.clock.fast_forward(4_000)  # the hand rests
    look(page)
    expect(page.get_by_role("link", name="Just in")).to_be_visible()


def test_whoever_wants_the_news_at_once_presses_for_it(house: House, page: Page) -> None:
    house.refuse("ada@example.org")
    page.goto(house.address(QUEUE))
    of_ada(page, "Dismiss").focus()
    news(house)
    look(page)
    page.get_by_role("button", name="This page has news").click()

    expect(page.get_by_role("link", name="Just in")).to_be_visible()


def test_a_tap_that_was_on_its_way_while_the_list_moved_does_nothing(house: House, page: Page) -> None:
    """The hand was going to what stood there before; what stands there now was not meant."""
    house.refuse("ada@example.org")
    page.goto(house.address(QUEUE))
    expect(page.locator("[data-help]")).to_be_visible()  # our script is there
    page.evaluate(
        """() => {
            window.hit = "nothing yet";
            new MutationObserver((_, observer) => {
                observer.disconnect();
                const box = document.querySelector("[id^=dismiss-]").getBoundingClientRect();
                const under = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
                window.hit = under.closest("button")?.id ?? "no button";
            }).observe(document.getElementById("emails"), { childList: true });
        }"""
    )
    news(house)
    look(page)
    expect(page.get_by_role("link", name="Just in")).to_be_visible()

    assert page.evaluate("() => window.hit") == "no button"
    expect(page.locator("body")).not_to_have_class(re.compile("settling"))
    of_ada(page, "Dismiss").click()
    expect(page.get_by_role("heading", name="Dismiss «For ada@example.org»?")).to_be_visible()


def test_that_a_minute_has_passed_is_no_news(house: House, page: Page) -> None:
    house.refuse("ada@example.org")
    page.goto(house.address(QUEUE))
    of_ada(page, "Retry").focus()
    page.clock.fast_forward(60_000)
    look(page)

    expect(page.get_by_role("button", name="This page has news")).to_be_hidden()


def test_where_the_focused_row_is_gone_the_focus_goes_to_the_one_in_its_place(house: House, page: Page) -> None:
    house.refuse("ada@example.org", "grace@example.org", "mary@example.org")  # mary is the newest, and first
    page.goto(house.address(DEAD))
    page.get_by_role("button", name="Retry «For grace@example.org»").focus()
    [grace] = [email for email in house.outbox.list().emails if "grace" in email.subject]
    house.outbox.dismiss(grace.id)
    look(page)
    expect(page.get_by_role("button", name="This page has news")).to_be_visible()
    press(page, "n")

    expect(page.locator("tr[data-email]")).to_have_count(2)
    expect(page.get_by_role("link", name="For ada@example.org")).to_be_focused()


def test_a_key_acts_on_a_marked_row_only(house: House, page: Page) -> None:
    house.refuse("ada@example.org", "grace@example.org")
    page.goto(house.address(DEAD))
    press(page, "r")
    page.get_by_label(re.compile("Select «For ada")).check()
    press(page, "r")
    page.goto(house.address(f"{QUEUE}/{house.outbox.list().emails[0].id}"))
    press(page, "r")
    page.wait_for_timeout(200)  # for a navigation that must not come

    assert house.outbox.counts()["dead"] == 2
    page.goto(house.address(DEAD))
    press(page, "j")
    with page.expect_navigation():
        press(page, "r")
    expect(page.get_by_text("1 email will be tried again now.")).to_be_visible()


def test_whoever_acts_by_keyboard_finds_the_focus_in_the_next_row(house: House, page: Page) -> None:
    house.refuse("ada@example.org", "grace@example.org", "mary@example.org")
    page.goto(house.address(DEAD))
    press(page, "j", "j")
    expect(page.get_by_role("link", name="For grace@example.org")).to_be_focused()
    with page.expect_navigation():
        press(page, "r")

    expect(page.get_by_role("link", name="For ada@example.org")).to_be_focused()
    press(page, "Escape")
    expect(page.locator("tr.at")).to_have_count(0)


def test_keys_are_switched_off_and_stay_off(house: House, page: Page) -> None:
    """(WCAG 2.1.4)"""
    house.refuse("ada@example.org")
    page.goto(house.address(DEAD))
    page.get_by_role("button", name="Keyboard shortcuts").click()
    page.get_by_label("Keys are on").uncheck()
    page.get_by_role("button", name="Close").click()
    press(page, "j")
    page.goto(house.address(DEAD))
    press(page, "j", "?", "/")

    expect(page.locator("tr.at")).to_have_count(0)
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_hidden()
    expect(page.get_by_label("Search", exact=True)).not_to_be_focused()
    page.get_by_role("button", name="Keyboard shortcuts").click()
    page.get_by_label("Keys are on").check()
    page.get_by_role("button", name="Close").click()
    press(page, "j")
    expect(page.locator("tr.at")).to_have_count(1)


@pytest.mark.parametrize("touch", [True, False], ids=["by touch", "by mouse"])
def test_on_a_phone_dismiss_is_far_from_retry_and_large_enough(house: House, browser: Browser, touch: bool) -> None:
    house.refuse("ada@example.org")
    context = browser.new_context(viewport=PHONE, has_touch=touch)
    page = context.new_page()
    page.goto(house.address(DEAD))
    retry, dismiss = (of_ada(page, act).bounding_box() for act in ("Retry", "Dismiss"))
    assert retry is not None
    assert dismiss is not None

    assert dismiss["x"] - (retry["x"] + retry["width"]) >= 48
    assert min(retry["height"], dismiss["height"]) >= 44
    if touch:
        of_ada(page, "Dismiss").tap()
        expect(page.get_by_role("heading", name="Dismiss «For ada@example.org»?")).to_be_visible()
    context.close()

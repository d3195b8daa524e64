"""The dev inbox in a real browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from postroom.inbox import DevInbox, Trouble
from tests.browser.chromium import chromium
from tests.inbox.post import plain, post

HOSTILE = """<p>Good to see you.</p>
<script>parent.document.title = "stolen"; fetch("http://elsewhere.example/")</script>
<img src="x" onerror="parent.document.title = 'stolen'"><img src="http://elsewhere.example/p.gif">
<a href="javascript:parent.alert(1)">click</a><form action="http://elsewhere.example/"><button>Send</button></form>"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def page(browser: Browser, inbox: DevInbox) -> Iterator[Page]:
    """At the inbox. A request to another host, or a page that breaks its own policy, fails the test."""
    with browser.new_context() as context:
        page = context.new_page()
        trespasses: list[str] = []
        page.on("request", lambda request: None if _is_ours(request.url, inbox) else trespasses.append(request.url))
        page.on("pageerror", lambda error: trespasses.append(str(error)))
        page.goto(inbox.url)
        yield page

        assert trespasses == []


def _is_ours(url: str, inbox: DevInbox) -> bool:
    return url.startswith((inbox.url, "data:", "about:"))


def test_new_mail_appears_by_itself(inbox: DevInbox, page: Page) -> None:
    expect(page.get_by_text("No mail yet.")).to_be_visible()
    post(inbox, plain("Welcome"))

    expect(page.get_by_role("link", name="Welcome")).to_be_visible()
    expect(page).to_have_title("Inbox (1) · Postroom dev inbox")


def test_hostile_html_runs_nothing_and_reaches_nobody(inbox: DevInbox, page: Page) -> None:
    message = plain("Hostile <script>document.title='stolen'</script>")
    message.add_alternative(HOSTILE, subtype="html")
    post(inbox, message)
    page.get_by_role("link", name="Hostile").click()
    frame = page.frame_locator("iframe")

    expect(frame.get_by_text("Good to see you.")).to_be_visible()
    expect(page).to_have_title("Hostile <script>document.title='stolen'</script> · Postroom dev inbox")
    expect(frame.locator("script, form, button")).to_have_count(0)


def test_chaos_is_switched_on_the_page_and_told_everywhere(inbox: DevInbox, page: Page) -> None:
    page.get_by_role("form", name="Hang up after the dot").get_by_role("button", name="Once").click()

    expect(page.get_by_text("Chaos is on.")).to_be_visible()
    assert inbox.chaos.state() == {Trouble.DROP: 1}

    page.get_by_role("form", name="Hang up after the dot").get_by_role("button", name="Off").click()

    expect(page.get_by_text("Chaos is on.")).to_be_hidden()
    assert inbox.chaos.state() == {}


def test_reading_searching_and_deleting_work_without_javascript(inbox: DevInbox, browser: Browser) -> None:
    post(inbox, plain("Apples"), plain("Pears"))
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(inbox.url)
        page.get_by_role("searchbox").fill("pears")
        page.get_by_role("button", name="Search").click()
        page.get_by_role("link", name="Pears").click()

        expect(page.get_by_text("Good to see you.")).to_be_visible()

        page.get_by_role("button", name="Delete").click()

        expect(page.get_by_role("link", name="Apples")).to_be_visible()
        assert [message.subject for message in inbox.messages()] == ["Apples"]

        page.get_by_text("Delete all…").click()
        page.get_by_role("button", name="Delete all mail for good").click()

        expect(page.get_by_text("No mail yet.")).to_be_visible()


def test_the_keyboard_reaches_everything(inbox: DevInbox, page: Page) -> None:
    post(inbox, plain("Apples"))
    expect(page.get_by_role("link", name="Apples")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("apples")
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", name="Found for “apples”")).to_be_visible()

    page.get_by_role("link", name="Apples").focus()
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", name="Apples")).to_be_visible()

"""The gallery in the dev inbox."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from postroom import Portal
from postroom.inbox import DevInbox, Trouble

WELCOME = "/templates/shop/welcome"


@pytest.fixture
def inbox(shop: Portal) -> Iterator[DevInbox]:
    with DevInbox(portals=lambda: {"shop": shop}) as inbox:
        yield inbox


@pytest.fixture
def browser(inbox: DevInbox) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=inbox.url, trust_env=False, timeout=30) as browser:
        yield browser


def test_the_menu_leads_to_the_templates_and_they_are_shown(browser: httpx.Client) -> None:
    first, front, page = (browser.get(path) for path in ("/", "/templates", WELCOME))

    assert 'href="/templates"' in first.text
    assert "The Shop" in front.text
    assert "<strong>Welcome, Ada</strong>" in page.text
    assert "Postroom dev inbox" in page.text


def test_a_sample_is_put_into_the_inbox_whatever_chaos_is_on(inbox: DevInbox, browser: httpx.Client) -> None:
    inbox.switch_on(Trouble.REFUSE)
    answer = browser.post(f"{WELCOME}/send", data={"language": "de", "sample": "ada"})
    told = browser.get(answer.headers["location"])
    [message] = inbox.messages()

    assert message.subject == "Willkommen, Ada"
    assert f'href="/messages/{message.id}"' in told.text
    assert inbox.letter(message.id).pictures.keys() == {"logo.shop"}


def test_a_change_is_shown_and_a_broken_template_explained(shop: Portal, browser: httpx.Client) -> None:
    browser.get(WELCOME)
    (shop.root / "welcome" / "subject.txt").write_text("{{ nobody }}")
    page = browser.get(WELCOME)

    assert page.status_code == 200
    assert "there is no such variable" in page.text


@pytest.mark.parametrize("path", ["/templates/shop/nothing", "/templates/..%2f..%2fetc%2fpasswd"])
def test_what_is_not_there_is_not_there(browser: httpx.Client, path: str) -> None:
    assert browser.get(path).status_code == 404


def test_another_page_puts_nothing_in_and_another_name_reads_nothing(inbox: DevInbox, browser: httpx.Client) -> None:
    forged = browser.post(f"{WELCOME}/send", data={"sample": "ada"}, headers={"Origin": "http://evil.example"})
    rebound = browser.get(WELCOME, headers={"Host": "evil.example"})

    assert (forged.status_code, rebound.status_code) == (403, 421)
    assert inbox.messages() == []


def test_without_portals_the_page_says_how_to_name_them() -> None:
    with DevInbox() as inbox:
        page = httpx.get(f"{inbox.url}/templates", trust_env=False)

    assert "No portal is named yet." in page.text

"""Unsubscribing as a person does it: from the email that arrived, on a phone, without scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from postroom import Edition, Email
from postroom.returns.unsubscribing.words import WORDS
from postroom.store.suppressions import Suppression, suppressions
from tests.browser.house import House

NARROW = 360
"""Pixels of a small phone."""
TALL = 44
"""Pixels that a finger needs."""


@pytest.fixture
def mail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    """A house that sends what can be unsubscribed from; nobody who comes from outside is signed in."""
    monkeypatch.setenv("POSTROOM_SECRET", "forty characters that are by no means a secret")
    monkeypatch.setenv("POSTROOM_PUBLIC_URL", "http://localhost")
    with House(tmp_path, dev=False) as house:
        yield house


@pytest.fixture
def phone(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": NARROW, "height": 640}, java_script_enabled=False)
    yield context.new_page()
    context.close()


def link_in_mail(house: House, language: str = "en", *, kind: str = "news") -> str:
    """The address that the email which arrived leads to, on the port that the test's own pages are at."""
    edition = Edition(portal="hub", template="news", version="9f2c1a83b0de", language=language)
    email = Email(to="ada@example.org", subject="News", text="Hello", edition=edition)
    before = len(house.smtp.messages)
    house.outbox.enqueue(email, unsubscribable=True, workspace="hotel", kind=kind)
    house.work(lambda counts: counts["sent"] == before + 1)
    [found] = re.findall(rb"List-Unsubscribe: <http://localhost(/u/[\w-]+)>", house.smtp.messages[-1].data)
    return house.address(found.decode())


def known(house: House) -> list[Suppression]:
    return house.outbox.database.run(suppressions(limit=10), writes=False)


def test_a_person_opens_the_link_presses_the_button_and_is_told(mail: House, phone: Page) -> None:
    phone.goto(link_in_mail(mail))
    expect(phone.get_by_role("heading", level=1)).to_have_text("Unsubscribe?")
    expect(phone.get_by_role("main")).to_contain_text("a…@example.org")
    before = known(mail)
    phone.get_by_role("button", name="Unsubscribe", exact=True).click()
    expect(phone.get_by_role("heading", level=1)).to_have_text("You are unsubscribed")
    [entry] = known(mail)

    assert before == []
    assert (entry.address, entry.workspace) == ("ada@example.org", "hotel")
    assert phone.context.cookies() == []


def test_a_press_by_mistake_is_taken_back(mail: House, phone: Page) -> None:
    phone.goto(link_in_mail(mail))
    phone.get_by_role("button", name="Stop only emails like this one").click()
    expect(phone.get_by_role("main")).to_contain_text("no more emails like this one")
    phone.get_by_role("button", name="I pressed this by mistake").click()
    expect(phone.get_by_role("heading", level=1)).to_have_text("You will get these emails again")

    assert known(mail) == []


@pytest.mark.parametrize("language", WORDS)
def test_in_every_language_the_page_fits_a_phone_and_a_finger_hits_the_buttons(
    mail: House, phone: Page, language: str
) -> None:
    phone.goto(link_in_mail(mail, language))
    buttons = phone.get_by_role("button").all()
    boxes = [button.bounding_box() for button in buttons]

    assert [button.text_content() for button in buttons] == [WORDS[language].stop_all, WORDS[language].stop_kind]
    assert all(box and box["height"] >= TALL and box["x"] >= 0 and box["x"] + box["width"] <= NARROW for box in boxes)
    assert phone.locator("html").get_attribute("lang") == language
    page = phone.locator("main").bounding_box()
    assert page is not None
    assert page["width"] <= NARROW


def test_the_page_is_styled_and_no_policy_is_broken(mail: House, browser: Browser) -> None:
    context = browser.new_context()
    page, told, asked = context.new_page(), [], []
    page.on("console", lambda message: told.append(message.text))
    page.on("request", lambda request: asked.append(request.url))
    link = link_in_mail(mail)
    page.goto(link)
    background = page.get_by_role("button", name="Unsubscribe", exact=True).evaluate(
        "button => getComputedStyle(button).backgroundColor"
    )
    context.close()

    assert background == "rgb(26, 79, 184)"
    assert told == []
    assert [url for url in asked if not url.endswith("/favicon.ico")] == [link]

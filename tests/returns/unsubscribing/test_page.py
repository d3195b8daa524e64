"""What the person reads: their own language, one heading, buttons that say what they do, and half an address."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import fields
from hashlib import sha256
from html.parser import HTMLParser

import pytest

from postroom.returns.unsubscribing.asking import Wish, wish_in
from postroom.returns.unsubscribing.page import CONTENT_POLICY, Answer, masked, shown
from postroom.returns.unsubscribing.words import WORDS, Sentences, chosen_language
from postroom.sealing import Ticket
from postroom.store.ids import new_id

TICKET = Ticket(email_id=new_id(), address="ada@example.org", kind="news")
ADDRESSED = ("ask", "done", "done_kind", "undone")


class Seen(HTMLParser):
    """Tags with their attributes, and the words in them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words += data

    def named(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.tags if tag == name]


@pytest.mark.parametrize("language", WORDS)
def test_every_language_says_everything_and_names_the_address_where_it_is_about_one(language: str) -> None:
    said = {each.name: getattr(WORDS[language], each.name) for each in fields(Sentences)}

    assert all(text.strip() == text and text for text in said.values())
    assert {name for name, text in said.items() if text.count("{address}") == 1} == set(ADDRESSED)
    assert not any("{" in text.replace("{address}", "") for text in said.values())
    if language != "en":
        assert [name for name, text in said.items() if text == getattr(WORDS["en"], name)] == []


@pytest.mark.parametrize("language", WORDS)
@pytest.mark.parametrize("answer", Answer)
def test_every_page_can_be_read_by_eye_and_by_ear(language: str, answer: Answer) -> None:
    page = Seen(shown(answer, language, ticket=None if answer is Answer.INVALID else TICKET))

    assert page.named("html") == [{"lang": language, "dir": "rtl" if language == "ar" else "ltr"}]
    assert len(page.named("h1")) == len(page.named("main")) == len(page.named("title")) == 1
    assert all(button["type"] == "submit" for button in page.named("button"))
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in page.named("meta")
    assert not page.named("script")
    assert not [tag for tag, given in page.tags if {"src", "href", "action", "style", "onclick"} & given.keys()]
    assert "{address}" not in page.words
    assert "ada@" not in page.words


def buttons(answer: Answer, ticket: Ticket | None = TICKET, wish: Wish | None = None) -> list[str | None]:
    return [button["value"] for button in Seen(shown(answer, "en", ticket=ticket, wish=wish)).named("button")]


def test_each_page_offers_what_can_be_done_there() -> None:
    assert buttons(Answer.ASK) == ["all", "kind"]
    assert buttons(Answer.ASK, Ticket(email_id=new_id(), address="ada@example.org")) == ["all"]
    assert buttons(Answer.DONE) == buttons(Answer.DONE_KIND) == ["undo"]
    assert buttons(Answer.UNDONE) == buttons(Answer.UNCLEAR) == ["all", "kind"]
    assert buttons(Answer.INVALID, None) == []


def test_where_it_did_not_work_the_same_can_be_asked_for_again() -> None:
    assert buttons(Answer.AWAY, wish=Wish.ALL) == ["all", "kind"]
    assert buttons(Answer.AWAY, wish=Wish.UNDO) == ["undo"]


def test_an_address_is_shown_by_half_and_never_as_markup() -> None:
    hostile = Ticket(email_id=new_id(), address='<b>"@example.org')

    assert masked("ada@example.org") == "a…@example.org"
    assert masked("a@example.org") == "a…@example.org"
    assert "<bdi>&lt;…@example.org</bdi>" in shown(Answer.ASK, "en", ticket=hostile)


def test_the_policy_allows_the_style_of_the_page_and_nothing_from_anywhere() -> None:
    page = shown(Answer.ASK, "en", ticket=TICKET)
    [style] = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    digest = b64encode(sha256(style.encode()).digest()).decode()

    assert f"style-src 'sha256-{digest}'" in CONTENT_POLICY
    assert CONTENT_POLICY.startswith("default-src 'none'")
    assert "url(" not in style
    assert "@import" not in style


@pytest.mark.parametrize(
    ("wanted", "accepted", "language"),
    [
        ("de-CH", "fr", "de"),
        ("", "fr-CA, en;q=0.8", "fr"),
        ("", "sv, nl;q=0.5, pl;q=0.9", "pl"),
        ("sv", "ja", "ja"),
        ("", "de;q=0, it;q=0.1", "it"),
        ("", "", "en"),
        ("", "*", "en"),
        ("", ";;;q=x,,de;q=nan", "en"),
        ("", "de;q=" + "9" * 400, "de"),
        ("AR", "", "ar"),
    ],
)
def test_the_language_is_that_of_the_email_else_of_the_browser_else_english(
    wanted: str, accepted: str, language: str
) -> None:
    assert chosen_language(wanted, accepted) == language


@pytest.mark.parametrize(
    ("form", "wish"),
    [
        ({"List-Unsubscribe": "One-Click"}, Wish.ONE_CLICK),
        ({"List-Unsubscribe": "one-click "}, Wish.ONE_CLICK),
        ({"what": "all"}, Wish.ALL),
        ({"what": "kind"}, Wish.KIND),
        ({"what": "undo"}, Wish.UNDO),
        ({"what": "undo", "List-Unsubscribe": "One-Click"}, Wish.ONE_CLICK),
        ({"what": "one-click"}, None),
        ({"List-Unsubscribe": "Two-Click"}, None),
        ({}, None),
    ],
)
def test_a_form_is_ours_or_that_of_the_standard(form: dict[str, str], wish: Wish | None) -> None:
    assert wish_in(form) is wish

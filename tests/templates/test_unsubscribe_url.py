"""`{{ unsubscribe_url }}`: a link to whatever looks at templates, and the reader's own in the email that is stored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from postroom import UNSUBSCRIBE_URL, Outbox, Portal
from postroom.compose.unsubscribing import link_in
from postroom.errors import ConfigurationError
from postroom.templates.checks import check_portal
from tests.templates.conftest import Write, template

NEWS = template(
    "news",
    html=(
        '<html lang="{{ language }}" dir="{{ direction }}"><head><title>{{ subject }}</title></head><body>'
        '<p>Hello {{ name }}</p><p><a href="{{ unsubscribe_url }}">Stop</a></p></body></html>'
    ),
    text="Hello {{ name }}\n\nStop: {{ unsubscribe_url }}\n",
)


@pytest.fixture
def outbox(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Outbox]:
    monkeypatch.setenv("POSTROOM_SECRET", "forty characters that are by no means a secret")
    monkeypatch.setenv("POSTROOM_PUBLIC_URL", "https://mail.example.org")
    with Outbox(sqlite_url) as outbox:
        outbox.migrate()
        yield outbox


def news(portal: Write) -> tuple[Portal, Any]:
    hub = portal(NEWS)

    @hub.template
    @dataclass(frozen=True)
    class News:
        name: str

    return hub, News


def test_a_template_shows_the_link_of_whoever_gets_it(portal: Write, outbox: Outbox) -> None:
    hub, context = news(portal)
    email = hub.email(context(name="Ada"), to="ada@example.org")
    id = outbox.enqueue(email, unsubscribable=True).id
    letter = outbox.letter(id)
    link = link_in(letter.headers)

    assert link is not None
    assert letter.text is not None
    assert letter.html is not None
    assert f"Stop: {link}" in letter.text
    assert f'href="{link}"' in letter.html
    assert outbox.get(id).kind == "hub.news"


def test_checks_take_it_for_the_link_that_it_will_be(portal: Write) -> None:
    """Also the second engine, and the rule that a link of the HTML is in the text."""
    hub, _ = news(portal)

    assert [finding for finding in check_portal(hub) if finding.rule != "contrast"] == []
    assert hub.in_language("news", "en").render({"name": "Ada"}).html.count(UNSUBSCRIBE_URL) == 1


def test_a_variable_of_that_name_is_refused(portal: Write) -> None:
    hub = portal(NEWS)

    with pytest.raises(ConfigurationError, match="a variable cannot be called unsubscribe_url"):

        @hub.template
        @dataclass(frozen=True)
        class News:
            name: str
            unsubscribe_url: str

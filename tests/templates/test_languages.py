"""The language that is asked for, or the first that stands for it; what was really used is recorded (C3)."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.errors import ConfigurationError, InvalidTemplate
from postroom.templates.languages import Languages, UnknownLanguage, canonical, direction
from tests.templates.conftest import Write, template

GERMAN = {
    "welcome/subject.de.txt": "Hallo {{ name }}",
    "welcome/body.de.html": '{% extends "layout.html" %}{% block body %}<p>Hallo {{ name }}</p>{% endblock %}',
    "welcome/body.de.txt": "Hallo {{ name }}",
    "layout.html": "<html><body>{% block body %}{% endblock %}<p>Yours, Hub</p></body></html>",
    "layout.de.html": "<html><body>{% block body %}{% endblock %}<p>Ihr Hub</p></body></html>",
}


@dataclass(frozen=True)
class Welcome:
    name: str


def welcome(portal: Write, files: dict[str, str | bytes], language: str | None, **given: object) -> tuple[str, str]:
    found = portal({**template("welcome"), **files}, **{"languages": ("en", "de", "pt-BR"), **given})

    @dataclass(frozen=True)
    class Own(Welcome):
        pass

    found.template(name="welcome")(Own)
    email = found.email(Own(name="Ada"), to="ada@example.org", language=language)
    assert email.edition is not None
    return email.edition.language, str(email.html)


@pytest.mark.parametrize(
    ("asked", "used"),
    [(None, "en"), ("en", "en"), ("de", "de"), ("de-CH", "de"), ("DE_ch", "de"), ("de-Latn-CH", "de"), ("en-GB", "en")],
)
def test_a_language_falls_back_to_what_it_is_a_kind_of(portal: Write, asked: str | None, used: str) -> None:
    assert welcome(portal, dict(GERMAN), asked)[0] == used


def test_layouts_speak_the_same_language(portal: Write) -> None:
    assert "Ihr Hub" in welcome(portal, dict(GERMAN), "de-CH")[1]


def test_a_declared_fallback_comes_before_the_default(portal: Write) -> None:
    assert welcome(portal, dict(GERMAN), "gsw", fallbacks={"gsw": "de-CH"})[0] == "de"


def test_what_is_not_complete_in_a_language_is_not_sent_in_it(portal: Write) -> None:
    partly = {name: content for name, content in GERMAN.items() if name != "welcome/body.de.txt"}

    language, html = welcome(portal, dict(partly), "de")

    assert language == "en"
    assert "Hallo" not in html


def test_an_unknown_language_is_an_error_that_lists_the_known_ones(portal: Write) -> None:
    with pytest.raises(InvalidTemplate, match=r"hub\.welcome: language: .*'fr' .*en, de, pt-BR") as refused:
        welcome(portal, {}, "fr")
    with pytest.raises(ConfigurationError, match="is no language"):
        welcome(portal, {}, "../../etc")

    assert refused.value.variable == "language"


def test_what_is_read_from_right_to_left_says_so(portal: Write) -> None:
    arabic: dict[str, str | bytes] = {
        "welcome/subject.ar.txt": "مرحبا {{ name }}",
        "welcome/body.ar.html": '<html lang="{{ language }}" dir="{{ direction }}"><body>{{ name }}</body></html>',
        "welcome/body.ar.txt": "{{ name }}",
    }

    _, html = welcome(portal, arabic, "ar-EG", languages=("en", "ar"))

    assert '<html lang="ar" dir="rtl">' in html
    assert [direction(tag) for tag in ("ar", "he", "az-Arab", "ar-Latn", "de", "zh-Hant")] == [
        "rtl", "rtl", "rtl", "ltr", "ltr", "ltr",
    ]  # fmt: skip


tags = st.sampled_from(("en", "de", "de-CH", "gsw", "pt", "pt-BR", "zh-Hant-TW", "fr", "sr-Latn"))


@given(spoken=st.lists(tags, min_size=1, max_size=4), fallbacks=st.dictionaries(tags, tags, max_size=6), asked=tags)
def test_a_chain_ends_at_the_default_and_names_what_is_spoken_once(
    spoken: list[str], fallbacks: dict[str, str], asked: str
) -> None:
    languages = Languages.of(spoken, fallbacks)
    try:
        chain = languages.chain(asked)
    except UnknownLanguage:
        assert asked not in languages.spoken
        return

    assert chain[-1] == languages.default or chain[0] == languages.default
    assert len({*chain}) == len(chain)
    assert {*chain} <= {*languages.spoken}
    assert asked not in languages.spoken or chain[0] == asked


def test_tags_have_one_spelling() -> None:
    assert [canonical(tag) for tag in ("DE", "de_ch", "ZH-hant-tw", "es-419")] == [
        "de",
        "de-CH",
        "zh-Hant-TW",
        "es-419",
    ]
    with pytest.raises(ConfigurationError, match="several of them"):
        Languages.of("en", {})

"""Light and dark on demand."""

from __future__ import annotations

import pytest

from postroom.gallery.scheme import in_scheme, knows_dark

YES, NO = "(min-width: 0px)", "(max-width: 0px)"


@pytest.mark.parametrize(
    "question",
    [
        "(prefers-color-scheme: dark)",
        "(prefers-color-scheme:dark)",
        "( Prefers-Color-Scheme : DARK )",
        "(prefers-color-scheme:/* at night */dark)",
        "(\n  prefers-color-scheme:\n  dark\n)",
    ],
)
def test_a_question_about_the_dark_is_answered_however_it_is_spelled(question: str) -> None:
    page = f"<head><style>@media {question} {{ p {{ color: white }} }}</style></head>"

    assert f"@media {YES} {{ p" in in_scheme(page, "dark")
    assert f"@media {NO} {{ p" in in_scheme(page, "light")
    assert knows_dark(page)


def test_what_else_is_asked_stays_as_it_is() -> None:
    page = "<style>@media screen and (prefers-color-scheme: dark) and (max-width: 600px) { a { color: red } }</style>"

    assert f"@media screen and {YES} and (max-width: 600px)" in in_scheme(page, "dark")


def test_a_question_about_the_light_is_answered_the_other_way_round() -> None:
    page = "<style>@media not (prefers-color-scheme: light) { a { color: red } }</style>"

    assert f"not {NO}" in in_scheme(page, "dark")
    assert f"not {YES}" in in_scheme(page, "light")
    assert not knows_dark(page)


def test_media_attributes_are_answered_and_words_are_left_alone() -> None:
    page = (
        '<head></head><source media="(prefers-color-scheme: dark)" srcset="x"><p>Ask (prefers-color-scheme: dark)!</p>'
    )
    dark = in_scheme(page, "dark")

    assert f'media="{YES}"' in dark
    assert "<p>Ask (prefers-color-scheme: dark)!</p>" in dark
    assert not knows_dark("<p>Ask (prefers-color-scheme: dark)!</p>")


def test_the_paper_follows_only_where_the_page_says_that_it_can_be_dark() -> None:
    plain = "<html><head></head><body>Hi</body></html>"
    able = plain.replace("<head>", '<head><meta name="color-scheme" content="light dark">')

    assert "color-scheme: only light" in in_scheme(plain, "dark")
    assert "color-scheme: only dark" in in_scheme(able, "dark")
    assert "color-scheme: only light" in in_scheme(able, "light")
    assert in_scheme("Hi", "light").endswith("Hi")

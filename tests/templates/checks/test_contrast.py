"""Contrast is measured where the text stands: light and dark, large and small."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.templates.checks.colours import BLACK, WHITE, Colour, colour_of, contrast
from postroom.templates.checks.contrast import check_contrast
from postroom.templates.checks.finding import Place
from postroom.templates.checks.page import Page
from postroom.templates.inlining import inlined


def problems(body: str, styles: str = "") -> list[str]:
    html = inlined(f"<html><head><style>{styles}</style></head><body>{body}</body></html>")
    return [each.problem for each in check_contrast(Place(template="hub.welcome"), Page.of(html))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#fff", WHITE),
        ("#FFFFFF", WHITE),
        ("white", WHITE),
        ("rgb(255, 255, 255)", WHITE),
        ("rgb(100% 100% 100%)", WHITE),
        ("rgba(0,0,0,1)", BLACK),
        ("#00000080", Colour(0, 0, 0, 128 / 255)),
        ("rgba(0 0 0 / 50%)", Colour(0, 0, 0, 0.5)),
        ("transparent", Colour(0, 0, 0, 0)),
        ("var(--ink)", None),
        ("rgb(a, b, c)", None),
        ("", None),
    ],
)
def test_colours_are_read_in_their_usual_spellings(text: str, expected: Colour | None) -> None:
    assert colour_of(text) == expected


def test_the_ratio_is_that_of_wcag() -> None:
    grey = colour_of("#767676")
    assert grey is not None

    assert contrast(BLACK, WHITE) == pytest.approx(21)
    assert contrast(grey, WHITE) == pytest.approx(4.54, abs=0.01)
    assert contrast(WHITE, grey) == contrast(grey, WHITE)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ('<p style="color:#777">x</p>', "#777777 on #ffffff: 4.47 : 1, and 4.5 is needed"),
        ('<div style="background:#0b6e4f"><p>x</p></div>', "#000000 on #0b6e4f"),
        ('<table><tr><td bgcolor="#000080"><font color="#0000ff">x</font></td></tr></table>', "#0000ff on #000080"),
        ('<div style="background:#222"><a href="https://a.example/">x</a></div>', "#0000ee on #222222"),
        ('<p style="color:rgba(0,0,0,.3)">x</p>', "#b2b2b2 on #ffffff"),
        ('<h1 style="color:#aaa">x</h1>', "and 3.0 is needed"),
        ('<p style="color:#888; font-size:18px">x</p>', "and 4.5 is needed"),
    ],
)
def test_text_that_is_too_like_what_is_behind_it_is_found(body: str, told: str) -> None:
    [problem] = problems(body)

    assert told in problem


@pytest.mark.parametrize(
    "body",
    [
        "<p>x</p>",
        '<p style="color:#767676">x</p>',
        '<h1 style="color:#888">x</h1>',
        '<p style="color:#888; font-size:18pt">x</p>',
        '<p style="color:#888; font-size:19px; font-weight:bold">x</p>',
        '<div style="background:#000"><p style="color:#fff">x</p></div>',
        '<div style="background:url(cid:x)"><p style="color:#fff">x</p></div>',
        '<div style="background:linear-gradient(red, blue)"><p style="color:#fff">x</p></div>',
        '<div style="background:transparent"><p>x</p></div>',
        '<div style="display:none;color:#fff">x</div>',
        '<div style="font-size:0;color:#fff">x</div>',
        '<div style="max-height:0px;color:#fff">x</div>',
        '<div style="color:#fff">·</div>',
        '<p style="font-size:1.2.3px; color: nonsense">x</p>',
    ],
)
def test_what_can_be_read_or_is_not_meant_to_be_passes(body: str) -> None:
    assert problems(body) == []


def test_a_pair_of_colours_is_told_once() -> None:
    assert len(problems('<p style="color:#999">one</p><p style="color:#999">two</p>')) == 1


DARK = "@media (prefers-color-scheme: dark) { RULES }"


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        (".page { background: #111 !important }", "#222222 on #111111 on a dark screen"),
        ("div { background: #111 !important }", "#222222 on #111111 on a dark screen"),
        ("#card p { color: #eee !important }", "#eeeeee on #ffffff on a dark screen"),
        ("div.page .words { color: #eee !important }", "#eeeeee on #ffffff on a dark screen"),
        ("/* dark */ .other, .page { background: #111 !important } .z { color: red }", "#222222 on #111111"),
    ],
)
def test_dark_rules_are_put_in_the_place_of_what_they_outweigh(rules: str, told: str) -> None:
    body = '<div class="page" id="card"><p class="words">x</p></div>'
    light = ".page { background: #fff } .words { color: #222 }"

    [problem] = problems(body, light + DARK.replace("RULES", rules))

    assert told in problem


@pytest.mark.parametrize(
    "rules",
    [
        ".page { background: #111 !important } .words { color: #eee !important }",
        ".page { background: #111 }",
        "[data-ogsc] .page { background: #111 !important }",
        ".page > .words { color: #fff !important }",
        ".words:hover { color: #fff !important }",
        "section .words { color: #fff !important }",
        ".words { color: #fff !important; color: #222 !important }",
    ],
)
def test_dark_rules_that_do_not_hold_or_are_not_understood_change_nothing(rules: str) -> None:
    """What is written into an element outweighs a rule that is not important."""
    body = '<div class="page"><p class="words">x</p></div>'

    assert problems(body, ".page { background: #fff } .words { color: #222 }" + DARK.replace("RULES", rules)) == []


@pytest.mark.parametrize(
    ("says", "color", "told"),
    [
        ("", "#eee", []),
        ("", "#222", []),
        ('<meta name="color-scheme" content="light dark">', "#eee", []),
        ('<meta name="color-scheme" content="light dark">', "#222", ["#222222 on #121212 on a dark screen"]),
        ('<body style="color-scheme: light dark">', "#222", ["#222222 on #121212"]),
        ("<style>@media screen { :root { color-scheme: light dark } }</style>", "#222", ["#222222 on #121212"]),
    ],
)
def test_a_page_that_paints_no_background_stands_on_the_screen_it_says_it_is_made_for(
    says: str, color: str, told: list[str]
) -> None:
    html = (
        f"<head>{says}<style>@media (prefers-color-scheme: dark) {{ p {{ color: {color} !important }} }}</style></head>"
    )

    found = [each.problem for each in check_contrast(Place(template="hub.welcome"), Page.of(f"{html}<p>x</p>"))]

    assert [each for each in told if not any(each in problem for problem in found)] == []
    assert bool(found) is bool(told)


@given(st.text(alphabet="{}();:@,.#!/*abc \n", max_size=80))
def test_no_styles_break_the_measuring(noise: str) -> None:
    html = f'<style>@media (prefers-color-scheme: dark) {{ {noise} }} {noise}</style><p style="{noise}">x</p>'

    list(check_contrast(Place(template="hub.welcome"), Page.of(html)))

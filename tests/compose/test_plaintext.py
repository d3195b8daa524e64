"""The text derived from HTML reads as its author would have typed it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.compose.plaintext import text_from_html


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("", ""),
        ("plain", "plain"),
        ("<p>One</p><p>Two</p>", "One\n\nTwo"),
        ("<p>One<p>Two", "One\n\nTwo"),
        ("<div>One</div><div>Two</div>", "One\nTwo"),
        ("One<br>Two<br><br>Three<br><br><br>Four", "One\nTwo\n\nThree\n\nFour"),
        ("  lots \n\t of   <b> space </b> here ", "lots of space here"),
        ("a<b>b</b>c", "abc"),
        ("<h1>Title</h1>Body", "Title\n\nBody"),
        ("<ul><li>One</li><li>Two <ul><li>Inner</li></ul></li></ul>After", "- One\n- Two\n- Inner\n\nAfter"),
        ("<ol><li>One<li>Two</ol>", "1. One\n2. Two"),
        ("<a href='https://example.org/x'>Click</a> now", "Click (https://example.org/x) now"),
        ("<a href='https://example.org'>https://example.org</a>", "https://example.org"),
        ("<a href='mailto:ada@example.org'>ada@example.org</a>", "ada@example.org"),
        ("<a href='mailto:ada@example.org'>Ada</a>", "Ada (ada@example.org)"),
        ("<a href='#top'>Up</a>", "Up"),
        ("<a href='javascript:alert(1)'>Up</a>", "Up"),
        ("<a href='https://example.org'><img src='x' alt='Logo'></a>", "Logo (https://example.org)"),
        ("<a href='https://example.org'><img src='x'></a>", "https://example.org"),
        ("<img alt='A  picture'>", "A picture"),
        ("Fish &amp; chips &lt;3 &#8364; &nbsp;x", "Fish & chips <3 € \u00a0x"),
        ("<head><title>T</title><style>p{}</style></head><body>Hi<script>x()</script></body>", "Hi"),
        ("<style>p { color: red }</style>Hi<!-- secret -->", "Hi"),
        ("<div style='DISPLAY : none'>preheader<div>x</div></div>Hi", "Hi"),
        ("<span hidden>x</span>Hi", "Hi"),
        ("<table><tr><td>A</td><td>B</td></tr><tr><td>C</td></tr></table>", "A B\nC"),
        ("<pre>  a\n    b\n</pre>c", "  a\n    b\n\nc"),
        ("One<hr>Two", "One\n\n----\n\nTwo"),
        ("<p></p><p></p>Hi<p></p>", "Hi"),
        ("1 < 2 & 3", "1 < 2 & 3"),
        ("a <b and no end", "a <b and no end"),
        ("<p title=it's>Hi</p>", "Hi"),
        ("<a title='a > b' href=https://example.org>Hi</a>", "Hi (https://example.org)"),
        ("<!--[if mso]><p>Outlook</p><![endif]-->Hi", "Hi"),
        ("<![if !mso]>Hi<![endif]>", "Hi"),
        ("<!DOCTYPE html><html><body>Hi</body></html>", "Hi"),
        ("<?xml version='1.0'?>Hi", "Hi"),
    ],
)
def test_html_becomes_text(html: str, text: str) -> None:
    assert text_from_html(html) == text


_tags = st.sampled_from(
    ["<p>", "</p>", "<br>", "<ul><li>", "</ul>", "<a href='https://x.y'>", "</a>", "<pre>", "<style>", "<a "]
)
_scraps = st.sampled_from(
    ["&amp;", "&#xd800;", "&#0;", "<!--", "-->", "<![if x]>", "<![", "<![x[", "<!x", "<?x", *"<>'\"/&]"]
)


@given(html=st.lists(_tags | _scraps | st.text(max_size=10)).map("".join))
def test_any_html_gives_a_tidy_text(html: str) -> None:
    """Whatever tags are left open: no error, nothing blank at the ends, at most one blank line in a row."""
    text = text_from_html(html)

    text.encode()
    assert "\n\n\n" not in text
    assert not text.startswith("\n")
    assert not text.endswith(("\n", " "))


LONG = 100_000


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<!--" * LONG, ""),
        ("<style>" * LONG, ""),
        ("<a>" * LONG, ""),
        ("<a " * LONG, ("<a " * LONG).strip()),
        ("<a b='" * LONG, ("<a b='" * LONG).strip()),
        ("<" * LONG, "<" * LONG),
        ("</" * LONG, "</" * LONG),
        ("&" * LONG, "&" * LONG),
        ("<p>x</p>" * LONG, "\n\n".join("x" * LONG)),
        ("<a href=https://x.y>x</a>" * 1000, "x (https://x.y)" * 1000),
    ],
    ids=lambda value: value[:10],
)
def test_a_page_made_to_keep_parsers_busy_is_read_in_one_pass(page: str, text: str) -> None:
    """Reading these in time that grows with the square of the length would run into the time limit of the suite."""
    assert text_from_html(page) == text

"""Looking at an email takes time in proportion to its length, whatever is in it."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from html.parser import HTMLParser

import nh3
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom import Email, Outbox
from postroom.accounts.values import Role
from postroom.admin.taming import DEEPEST, LONGEST, MOST, CannotShow, tamed
from postroom.admin.viewer import ATTRIBUTES, TAGS, remote_image_count, safe_document
from tests.admin.callers import token_for
from tests.admin.desk import answered, answered_meanwhile, desk, head, rest

NESTED = "<div>" * 36_000 + "x" + "</div>" * 36_000
FONTS = "".join(f"<font size={number}>" for number in range(150))


def tame(html: str) -> str:
    return tamed(html, tags=TAGS, attributes=ATTRIBUTES)


class Nesting(HTMLParser):
    """How deep HTML goes, and whether every element is closed in its place, as another parser sees it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.deepest = 0
        self.astray: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in ("br", "hr", "img", "col", "wbr"):
            self.open.append(tag)
            self.deepest = max(self.deepest, len(self.open))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.astray.append(tag)


@pytest.mark.parametrize(
    "html",
    [
        NESTED,
        "<span><div></span>" * 1_000,
        "<div><table><td></div>" * 1_000,
        "<blockquote><ul><li>" * 1_000,
        FONTS * 2,
    ],
)
def test_what_is_nested_too_deep_is_not_shown(html: str) -> None:
    with pytest.raises(CannotShow, match="too deep to show"):
        safe_document(html)


@pytest.mark.parametrize(
    "html", ["x" * (LONGEST + 1), "<br>" * (MOST + 1), "<p>" + FONTS.replace("size", "face") + "<p>x" * 90_000]
)
def test_what_is_too_large_is_not_shown(html: str) -> None:
    with pytest.raises(CannotShow, match="too large to show"):
        safe_document(html)


def test_what_a_comment_hides_from_some_readers_is_hidden_from_all() -> None:
    """By the rules of browsers this comment ends at `--!>`, and much comes after it."""
    assert tame("<p>Hi</p><!-- --!>" + "<div>" * 50_000) == "<p>Hi</p>"


def test_what_was_left_open_is_not_repeated_for_ever() -> None:
    """150 unclosed fonts before 20,000 divisions became three million elements."""
    written = tame("<p>" + FONTS + "<div>x</div>" * 20_000)

    assert len(nh3.clean(written, tags=set(TAGS), attributes=ATTRIBUTES)) < 2 * len(written)


def test_a_tag_keeps_only_attributes_that_mean_something() -> None:
    written = tame("<div " + " ".join(f"a{number}" for number in range(60_000)) + " class='x' onclick='y'>Hi</div>")

    assert written == '<div class="x">Hi</div>'


@pytest.mark.parametrize(
    ("html", "written"),
    [
        ("<p>one<p>two", "<p>one</p><p>two</p>"),
        ("<ul><li>one<li>two<ul><li>three</ul></ul>", "<ul><li>one</li><li>two<ul><li>three</li></ul></li></ul>"),
        (
            "<table><tr><td><div>a<td>b<tr><td>c</table>d",
            "<table><tr><td><div>a</div></td><td>b</td></tr><tr><td>c</td></tr></table>d",
        ),
        ("<b>bold <i>both</b> italic</i> none", "<b>bold <i>both</i></b><i> italic</i> none"),
        ("<b>bold<div>in</b>side</div>out", "<b>bold<div>inside</div></b>out"),
        ("<div><b>bold</div>still</b>not", "<div><b>bold</b></div><b>still</b>not"),
        ("<dl><dt>a<dd>b<dt>c</dl>", "<dl><dt>a</dt><dd>b</dd><dt>c</dt></dl>"),
        ("a &lt;b&gt; &amp; c<br>d</p></div>", "a &lt;b&gt; &amp; c<br>d"),
        ("<a href='x'>one<a href='y'>two</a>", '<a href="x">one</a><a href="y">two</a>'),
        ("<table><tr><td>a</div></b></td></table>", "<table><tr><td>a</td></tr></table>"),
    ],
)
def test_what_authors_leave_open_is_closed_where_they_meant_it(html: str, written: str) -> None:
    assert tame(html) == written


PIECES = ("p", "b", "i", "font", "a", "div", "span", "table", "tr", "td", "ul", "li", "h1", "blockquote", "br", "form")


@given(st.lists(st.sampled_from([f"<{name}>" for name in PIECES] + [f"</{name}>" for name in PIECES] + ["x"])))
def test_everything_is_closed_in_its_place(written: list[str]) -> None:
    seen = Nesting(tame("".join(written)))

    assert not seen.astray
    assert not seen.open
    assert seen.deepest <= DEEPEST
    assert tame("".join(written)).count("x") == written.count("x")


@pytest.mark.timeout(20)
def test_pictures_in_styles_are_counted_without_looking_back() -> None:
    assert remote_image_count("<style>a{b:url(" + " " * 500_000 + "}</style>") == 0


def test_others_are_served_while_somebody_looks_at_a_hostile_email(sqlite_url: str) -> None:
    """The page says why, and where the rest is; 400 kB of `<div>` stopped everybody for 13 s.

    The second email is as much as is still shown; others are served while eight people look at it.
    """
    with Outbox(sqlite_url, sender="desk@example.org") as outbox:
        outbox.migrate()
        viewer = f"Authorization: Bearer {token_for(outbox, Role.VIEWER)}"
        deep = outbox.enqueue(Email(to="ada@example.org", subject="Deep", text="The text", html=NESTED)).id
        busy = "<p>x" * (MOST // 2 - 1)
        long = outbox.enqueue(Email(to="ada@example.org", subject="Long", text="The text", html=busy)).id
        with desk(outbox) as web:
            page = web.ask(f"/admin/email-queue/{deep}", viewer).decode()
            text = web.ask(f"/admin/email-queue/{deep}?view=text", viewer).decode()
            source = web.ask(f"/admin/email-queue/{deep}?view=source", viewer).decode()
            with ExitStack() as stack:
                looking = [stack.enter_context(web.connect()) for _ in range(8)]
                for each in looking:
                    each.sendall(head("GET", f"/admin/email-queue/{long}", viewer, "Connection: close"))
                others = answered_meanwhile(web, looking)
                statuses = {answered(each) for each in looking}
                shown = [rest(each) for each in looking]

    assert "Too deep to show" in page
    assert "?view=source" in page
    assert "?view=text" in page
    assert "The text" in text
    assert "&lt;div&gt;" in source
    # One may be served before the work begins, and one when it is over.
    assert others > 2
    assert statuses == {200}
    assert all(b"srcdoc" in each for each in shown)


def test_several_who_look_at_once_take_turns(sqlite_url: str) -> None:
    with Outbox(sqlite_url, sender="desk@example.org") as outbox:
        outbox.migrate()
        viewer = f"Authorization: Bearer {token_for(outbox, Role.VIEWER)}"
        id = outbox.enqueue(Email(to="ada@example.org", subject="Deep", text="x", html="<p>x" * 20_000)).id
        answers: list[bytes] = []
        with desk(outbox) as web:
            crowd = [
                threading.Thread(target=lambda: answers.append(web.ask(f"/admin/email-queue/{id}", viewer)[:12]))
                for _ in range(6)
            ]
            for each in crowd:
                each.start()
            probe = web.ask()
            for each in crowd:
                each.join()

    assert probe.startswith(b"HTTP/1.1 200")
    assert answers == [b"HTTP/1.1 200"] * 6

"""Messages taken apart: ordinary ones, ours, and those that mean harm."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom import Attachment, Email, Invite, Outbox
from postroom.inbox import DevInbox
from postroom.inbox.received import ReadMessage, read_message
from tests.inbox.post import PICTURE, plain


def test_an_email_of_ours_comes_apart_as_it_was_put_together(inbox: DevInbox, outbox: Outbox) -> None:
    start = datetime(2026, 12, 1, 18, tzinfo=ZoneInfo("Europe/Berlin"))
    outbox.send(
        Email(
            to="Ada <ada@example.org>",
            subject="Dinner 🌷",
            text="See you.",
            html='<p>See you. <img src="cid:flower"></p>',
            invite=Invite(uid="1@example.org", start=start, end=start + timedelta(hours=2), summary="Dinner"),
            attachments=[
                Attachment(filename="menü.pdf", content=b"%PDF"),
                Attachment(filename="flower.gif", content=PICTURE, content_id="flower"),
            ],
        )
    )
    (message,) = inbox.wait_for(1)
    letter = inbox.letter(message.id)

    assert message.subject == letter.header("subject") == "Dinner 🌷"
    assert letter.text is not None
    assert letter.text.strip() == "See you."
    assert "cid:flower" in (letter.html or "")
    assert letter.pictures["flower"] == ("image/gif", PICTURE)
    assert b"%PDF" in {each.content for each in letter.enclosures if each.name == "menü.pdf"}
    assert letter.invitation is not None
    assert letter.invitation.method == "REQUEST"
    assert letter.invitation.summary == "Dinner"
    assert letter.invitation.start == "Tuesday, 01 December 2026, 18:00 (Europe/Berlin)"
    assert letter.invitation.attendees == ("Ada <ada@example.org>",)


def test_a_message_within_a_message_is_a_file() -> None:
    outer = plain("Outer")
    outer.add_attachment(plain("Inner"))
    letter = read_message(bytes(outer))

    assert letter.text == "Good to see you.\n"
    assert [each.media_type for each in letter.enclosures] == ["message/rfc822"]
    assert b"Subject: Inner" in letter.enclosures[0].content


@pytest.mark.parametrize(
    ("name", "kept"),
    [("../../etc/passwd", ".._.._etc_passwd"), ("a\\b.txt", "a_b.txt"), ("x" * 500, "x" * 200)],
)
def test_the_name_of_a_file_is_no_path(name: str, kept: str) -> None:
    message = plain()
    message.add_attachment(b"x", maintype="application", subtype="x", filename=name)
    (enclosure,) = read_message(bytes(message)).enclosures

    assert enclosure.name == kept


@pytest.mark.parametrize(
    "source",
    [
        b"",
        b"no header at all",
        b"Subject: =?utf-8?q?=ff=fe?=\r\n\r\n\xff\xfe",
        b"Content-Type: text/plain; charset=no-such-charset\r\n\r\nHello",
        b"Content-Type: text/plain; charset=\xff\r\nSubject: \xff\r\n\r\nHello",
        b"From: <>>@[\r\nTo: =?a?b?c?=, ,,\r\nMessage-ID: <\r\nDate: x\r\n\r\n",
        b"Content-Type: multipart/mixed\r\n\r\nno boundary",
        b"Content-Type: text/calendar\r\n\r\nBEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART:x\r\n",
        b"Content-Disposition: attachment; filename*=utf-8'';x\r\nContent-Transfer-Encoding: base64\r\n\r\n!!!",
        b"".join(b"Content-Type: multipart/mixed; boundary=%d\r\n\r\n--%d\r\n" % (n, n) for n in range(1_200)),
    ],
)
def test_a_broken_message_is_read_as_far_as_it_goes(source: bytes) -> None:
    letter = read_message(source)

    assert isinstance(letter, ReadMessage)
    assert letter.plain_text().encode() is not None
    assert all(value.encode() is not None for _, value in letter.headers)


def test_text_in_an_unknown_charset_is_still_shown() -> None:
    letter = read_message(b"Content-Type: text/plain; charset=no-such-charset\r\n\r\nHello")

    assert letter.text == "Hello"


def test_the_text_of_html_alone_is_what_it_says() -> None:
    letter = read_message(b"Content-Type: text/html\r\n\r\n<p>Good <b>morning</b></p><script>evil()</script>")

    assert letter.text is None
    assert letter.plain_text().strip() == "Good morning"


_PIECES = st.sampled_from(
    [b"Content-Type: ", b"multipart/mixed; boundary=x", b"text/html", b"text/calendar", b"\r\n", b"\r\n\r\n", b"--x",
     b"--x--", b"Subject: ", b"=?utf-8?b?", b"?=", b"From: ", b"<", b">", b'"', b"\xff", b"\x00", b";", b"charset=",
     b"BEGIN:VCALENDAR\r\n", b"BEGIN:VEVENT\r\n", b"END:VEVENT\r\n", b"END:VCALENDAR\r\n", b"message/rfc822"]
)  # fmt: skip


@given(st.lists(_PIECES | st.binary(max_size=20), max_size=40).map(b"".join))
def test_no_message_whatsoever_raises(source: bytes) -> None:
    letter = read_message(source)

    assert letter.plain_text().encode() is not None

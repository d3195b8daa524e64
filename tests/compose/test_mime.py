"""What leaves is what was meant: two independent parsers read every message back (C2)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from email import message_from_bytes
from email.message import Message
from email.utils import parsedate_to_datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from postroom.compose import Address, Attachment, Email, Invite, Letter
from postroom.compose.transfer import with_crlf
from tests.compose.judges import JUDGES, File, Judge, standard_library
from tests.compose.strategies import (
    DATE,
    ID,
    SENDER,
    addresses,
    attachments,
    bodies,
    composed,
    emails,
    header_texts,
    headers,
    international,
    many,
)

each_judge = pytest.mark.parametrize("judge", JUDGES, ids=lambda judge: judge.__name__)
INVITE = Invite(
    uid="booking-7@example.org",
    start=datetime(2026, 7, 1, 9, tzinfo=ZoneInfo("Europe/Berlin")),
    end=datetime(2026, 7, 1, 10, tzinfo=ZoneInfo("Europe/Berlin")),
    summary="Booking",
)


@each_judge
@given(subject=header_texts)
@example(subject="")
@example(subject=" leading and trailing ")
@example(subject="🎉" * 300)
@example(subject="word " * 100 + "end")
@example(subject="unbroken" * 200)
def test_a_parser_reads_the_subject_that_was_given(judge: Judge, subject: str) -> None:
    seen = judge(composed(Email(to="ada@example.org", subject=subject)).as_bytes())

    assert seen.subject == subject


@each_judge
@given(to=st.lists(addresses, min_size=1, max_size=3), cc=st.lists(addresses, max_size=2), sender=addresses)
@example(to=[Address("ö" * 200, "ada@example.org")], cc=[], sender=SENDER)
@example(to=[Address("o" * 200, "ada@example.org")], cc=[], sender=SENDER)
@example(to=[Address("a", "a" * 64 + "@" + "b" * 60 + "." + "c" * 60 + ".example.org")] * 3, cc=[], sender=SENDER)
def test_a_parser_reads_the_addresses_that_were_given(
    judge: Judge, to: list[Address], cc: list[Address], sender: Address
) -> None:
    seen = judge(composed(Email(to=to, cc=cc, sender=sender, reply_to=to)).as_bytes())

    expected = {"From": (sender,), "To": tuple(to), "Reply-To": tuple(to)} | ({"Cc": tuple(cc)} if cc else {})
    assert seen.addresses == expected


@each_judge
@given(to=international)
def test_a_local_part_beyond_ascii_is_written_in_utf8_and_asks_for_smtputf8(judge: Judge, to: Address) -> None:
    letter = composed(Email(to=to))

    assert letter.needs_smtputf8
    assert judge(letter.as_bytes()).addresses["To"] == (to,)


@each_judge
def test_a_thousand_recipients_are_all_read(judge: Judge) -> None:
    to = [Address(f"Nº {number}", f"reader{number}@example.org") for number in range(1000)]

    assert judge(composed(Email(to=to)).as_bytes()).addresses["To"] == tuple(to)


@each_judge
@given(given_headers=headers)
@example(given_headers={"References": " ".join(f"<{number}.0123456789@example.org>" for number in range(60))})
@example(given_headers={"List-Unsubscribe": "<https://example.org/" + "u" * 800 + ">, <mailto:leave@example.org>"})
@example(given_headers={"X-Spaced": "a  " * 500 + "b"})
@example(given_headers={"X-Empty": ""})
def test_a_parser_reads_the_callers_own_headers(judge: Judge, given_headers: dict[str, str]) -> None:
    message = composed(Email(to="ada@example.org", headers=given_headers)).as_bytes()
    seen = judge(message).headers
    # Where there is no choice but to fold between several spaces, parsers disagree about how many there were.
    seen_and_given = [(_words(seen[name]), _words(value)) for name, value in given_headers.items()]

    assert all(found == meant for found, meant in seen_and_given)
    assert all(seen[name] == value for name, value in given_headers.items() if len(value) < 900)


def _with_crlf(text: str) -> str:
    return with_crlf(text.encode()).decode()


def _words(value: str) -> list[str]:
    return value.split()


@each_judge
@given(text=bodies, html=bodies)
@example(text=".\r\n.\r\n", html="x")
@example(text="a" * 899 + "ü" + "b" * 2000, html="<p>" + "c" * 5000)
def test_a_parser_reads_the_bodies_that_were_given(judge: Judge, text: str, html: str) -> None:
    """Line ends become CRLF, and the last line has one; nothing else changes."""
    email = Email(to="ada@example.org", text=text, html=html)
    expected = {}
    if email.text or not email.html:
        expected["text/plain"] = _with_crlf(email.text)
    if email.html:
        expected["text/html"] = _with_crlf(email.html)

    assert judge(composed(email).as_bytes()).texts == expected


@each_judge
@given(attachment=attachments)
def test_a_parser_finds_the_file_under_its_name(judge: Judge, attachment: Attachment) -> None:
    (seen,) = judge(composed(Email(to="ada@example.org", attachments=attachment)).as_bytes()).files

    assert seen == File(
        filename=attachment.filename, content=attachment.content, content_id=None, disposition="attachment"
    )


@given(email=emails)
def test_every_message_is_made_of_crlf_lines_within_the_limit(email: Email) -> None:
    message = composed(email).as_bytes()
    lines = message.split(b"\r\n")

    assert lines[-1] == b"", "it ends with CRLF"
    assert not any(b"\r" in line or b"\n" in line for line in lines)
    assert max(map(len, lines)) <= 998
    assert message.isascii()
    assert message == composed(email).as_bytes(), "and it is the same each time"


@given(subject=header_texts, to=many, given_headers=headers)
def test_headers_are_folded_at_78_unless_one_word_is_longer(
    subject: str, to: list[Address], given_headers: dict[str, str]
) -> None:
    email = Email(to=to, bcc="eve@example.org", subject=subject, headers=given_headers)
    head = composed(email).as_bytes().split(b"\r\n\r\n", 1)[0].decode()
    overlong = [line for line in head.split("\r\n") if len(line) > 78]

    for line in overlong:
        name_and_first_word = re.match(r"(?:[\w-]+:)? *\S+(?: {2,}\S+)*$", line)
        assert name_and_first_word, line


def test_blind_recipients_appear_nowhere_in_the_message() -> None:
    letter = composed(Email(to="ada@example.org", bcc=("Hidden Person", "hidden@example.org"), html="<p>Hello</p>"))

    assert b"idden" not in letter.as_bytes()
    assert letter.recipients == ("ada@example.org", "hidden@example.org")


def test_a_message_to_blind_recipients_only_still_has_a_to_header() -> None:
    message = composed(Email(bcc="hidden@example.org")).as_bytes()

    assert b"\r\nTo: undisclosed-recipients:;\r\n" in message


def test_of_several_authors_the_first_is_the_sender() -> None:
    email = Email(to="ada@example.org", sender=["Bob <bob@example.org>", "Eve <eve@example.org>"])
    message = message_from_bytes(composed(email).as_bytes())

    assert message["From"] == "Bob <bob@example.org>, Eve <eve@example.org>"
    assert message["Sender"] == "Bob <bob@example.org>"


def test_a_single_author_needs_no_sender_header() -> None:
    assert "Sender" not in message_from_bytes(composed(Email(to="ada@example.org")).as_bytes())


def test_message_id_and_date_are_those_of_the_letter() -> None:
    letter = Letter.compose(
        Email(to="ada@example.org"),
        id=ID,
        date=datetime(2026, 1, 4, 1, 2, 3, tzinfo=timezone(timedelta(hours=5))),
        default_sender=SENDER,
    )
    message = message_from_bytes(letter.as_bytes())

    assert message["Message-ID"] == "<019685b12c0070008000" + "00000000abcd@example.org>"
    assert message["Date"] == "Sat, 3 Jan 2026 20:02:03 +0000"


@given(moment=st.datetimes(min_value=datetime(1900, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001
@example(moment=datetime(2515, 1, 1, 0, 0, 0, 999_999, tzinfo=UTC))
def test_the_date_header_is_understood(moment: datetime) -> None:
    letter = Letter.compose(Email(to="ada@example.org"), id=ID, date=moment, default_sender=SENDER)

    seen = parsedate_to_datetime(message_from_bytes(letter.as_bytes())["Date"])
    assert seen == moment.replace(microsecond=0)


LOGO = Attachment("logo.png", b"png", content_id="logo")
REPORT = Attachment("report.pdf", b"pdf")
ALTERNATIVE = ["multipart/alternative", "text/plain", "text/html"]
INVITING = ["multipart/alternative", "text/plain", "text/html", "text/calendar"]


@each_judge
@pytest.mark.parametrize(
    ("fields", "shape"),
    [
        ({}, "text/plain"),
        ({"text": "Hi"}, "text/plain"),
        ({"html": "<img src='x'>"}, "text/html"),
        ({"html": "<p>Hi"}, ALTERNATIVE),
        ({"text": "Hi", "attachments": REPORT}, ["multipart/mixed", "text/plain", "application/pdf"]),
        ({"text": "Hi", "attachments": LOGO}, ["multipart/mixed", "text/plain", "image/png"]),
        ({"html": "<p>Hi", "attachments": LOGO}, ["multipart/related", ALTERNATIVE, "image/png"]),
        (
            {"html": "<p>Hi", "attachments": [REPORT, LOGO]},
            ["multipart/mixed", ["multipart/related", ALTERNATIVE, "image/png"], "application/pdf"],
        ),
        ({"html": "<p>Hi", "invite": INVITE}, ["multipart/mixed", INVITING, "application/ics"]),
        (
            {"html": "<p>Hi", "invite": INVITE, "attachments": [LOGO, REPORT]},
            ["multipart/mixed", ["multipart/related", INVITING, "image/png"], "application/pdf", "application/ics"],
        ),
    ],
)
def test_parts_are_nested_only_as_deep_as_needed(judge: Judge, fields: dict[str, object], shape: object) -> None:
    email = Email(to="ada@example.org", **fields)  # type: ignore[arg-type]

    assert judge(composed(email).as_bytes()).shape == shape


@each_judge
def test_an_image_is_found_by_its_content_id(judge: Judge) -> None:
    email = Email(to="ada@example.org", html="<img src='cid:logo'>", attachments=LOGO)

    (image,) = judge(composed(email).as_bytes()).files
    assert image == File(filename="logo.png", content=b"png", content_id="logo", disposition="inline")


@each_judge
def test_an_invite_is_in_the_alternative_and_attached(judge: Judge) -> None:
    """Gmail and Outlook look in different places (A9)."""
    letter = composed(Email(to="ada@example.org", text="See you", invite=INVITE))
    seen = judge(letter.as_bytes())

    assert letter.calendar is not None
    assert seen.texts["text/calendar"] == letter.calendar.ics
    assert seen.files == (
        File(filename="invite.ics", content=letter.calendar.ics.encode(), content_id=None, disposition="attachment"),
    )


@pytest.mark.parametrize("method", ["REQUEST", "CANCEL"])
def test_the_calendar_part_names_its_method(method: str) -> None:
    invite = INVITE if method == "REQUEST" else INVITE.cancelled()
    message = message_from_bytes(composed(Email(to="ada@example.org", invite=invite)).as_bytes())
    (part,) = _parts(message, "text/calendar")

    assert part.get_param("method") == method
    assert part.get_content_charset() == "utf-8"


def _parts(message: Message, content_type: str) -> list[Message]:
    return [part for part in message.walk() if part.get_content_type() == content_type]


@each_judge
def test_a_text_that_holds_the_boundary_does_not_break_the_message(judge: Judge) -> None:
    email = Email(to="ada@example.org", text="Hello", html="<p>Hello")
    boundary = message_from_bytes(composed(email).as_bytes()).get_boundary()
    hostile = f"Hello\n--{boundary}\nContent-Type: text/html\n\n<script>\n--{boundary}--\n"

    message = composed(Email(to="ada@example.org", text=hostile, html="<p>Hello")).as_bytes()
    assert judge(message).texts == {"text/plain": _with_crlf(hostile), "text/html": "<p>Hello\r\n"}


def test_boundaries_differ_between_emails() -> None:
    email = Email(to="ada@example.org", html="<p>Hello")
    other = Letter.compose(email, id=type(ID)(ID[:-1] + "e"), date=DATE, default_sender=SENDER)

    boundaries = {message_from_bytes(letter.as_bytes()).get_boundary() for letter in (composed(email), other)}
    assert len(boundaries) == 2


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("plain ASCII\n" * 20, "7bit"),
        ("mostly ASCII, with an é\n" * 20, "quoted-printable"),
        ("x" * 2000, "quoted-printable"),
        ("bell \a", "quoted-printable"),
        ("日本語" * 50, "base64"),
    ],
)
def test_the_smallest_transfer_encoding_is_used(text: str, encoding: str) -> None:
    message = message_from_bytes(composed(Email(to="ada@example.org", text=text)).as_bytes())

    assert message["Content-Transfer-Encoding"] == encoding


def test_dots_are_left_for_smtp_to_stuff() -> None:
    assert b"\r\n.\r\n..\r\n" in composed(Email(to="ada@example.org", text="a\n.\n..\n")).as_bytes()


def test_the_judges_would_notice_a_header_that_was_smuggled_in() -> None:
    """The check above can fail: the standard library sees what an injection would add."""
    message = composed(Email(to="ada@example.org", subject="Hello")).as_bytes()
    forged = message.replace(b"Subject: Hello", b"Subject: Hello\r\nX-Evil: yes")

    assert "X-Evil" in standard_library(forged).headers
    assert "X-Evil" not in standard_library(message).headers

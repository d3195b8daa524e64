"""An `Email` that exists can be stored and sent; everything else is refused where it is made."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.compose import Address, Attachment, Email, Invite, Limits
from postroom.errors import InvalidEmail
from tests.compose.strategies import composed

ADA = "ada@example.org"


def test_every_field_is_kept_in_one_form() -> None:
    picture = Attachment("a.png", b"x", content_id="a")
    email = Email(
        to="Ada <ada@example.org>",
        cc=["bob@example.org"],
        bcc=("Eve", "eve@example.org"),
        reply_to=Address("", "desk@example.org"),
        sender="shop@example.org",
        subject="Hi",
        text="Hello",
        html="<p>Hello</p>",
        attachments=[picture],
        headers={"X-Thing": " yes "},
        tags=["a", "b", "a"],
    )

    assert email.to == (Address("Ada", ADA),)
    assert email.cc == (Address("", "bob@example.org"),)
    assert email.bcc == (Address("Eve", "eve@example.org"),)
    assert email.reply_to == (Address("", "desk@example.org"),)
    assert email.sender == (Address("", "shop@example.org"),)
    assert (email.subject, email.text, email.html) == ("Hi", "Hello", "<p>Hello</p>")
    assert email.attachments == (picture,)
    assert email.headers == (("X-Thing", "yes"),)
    assert email.tags == ("a", "b")


def test_an_email_is_a_value() -> None:
    email = Email(to=ADA, subject="Hi")

    assert email == Email(to=[ADA], subject="Hi")
    assert hash(email) == hash(Email(to=[ADA], subject="Hi"))
    assert replace(email, subject="Ho") == Email(to=ADA, subject="Ho")
    with pytest.raises(FrozenInstanceError):
        email.subject = "changed"  # type: ignore[misc]


def test_a_missing_text_is_derived_from_the_html() -> None:
    assert Email(to=ADA, html="<p>Hello <b>Ada</b></p>").text == "Hello Ada"
    assert Email(to=ADA, html="<p>Hello</p>", text="Mine").text == "Mine"
    assert Email(to=ADA).text == ""


def test_a_reply_to_header_is_treated_as_the_field() -> None:
    assert Email(to=ADA, headers={"reply-to": "Desk <desk@example.org>"}).reply_to == (
        Address("Desk", "desk@example.org"),
    )
    assert Email(to=ADA, headers={"reply-to": "desk@example.org"}).headers == ()


def test_headers_may_repeat_when_given_as_pairs() -> None:
    email = Email(to=ADA, headers=[("X-Thing", "1"), ("X-Thing", "2")])

    assert composed(email).as_bytes().count(b"X-Thing:") == 2


@pytest.mark.parametrize("field", ["to", "cc", "bcc"])
def test_one_recipient_anywhere_is_enough(field: str) -> None:
    fields: dict[str, Any] = {field: ADA}

    assert composed(Email(**fields)).recipients == (ADA,)


def _refusal(**fields: Any) -> InvalidEmail:
    with pytest.raises(InvalidEmail) as refusal:
        Email(**({"to": ADA} | fields))
    return refusal.value


UNSAFE = [
    ("a\rb", "carriage return"),
    ("a\nBcc: x@example.org", "line feed"),
    ("a\0b", "NUL"),
    ("a\tb", "U+0009"),
    ("a\x1bb", "U+001B"),
    ("a\x7fb", "U+007F"),
    ("a\x85b", "U+0085"),
    ("a\u2028b", "U+2028"),
    ("a\ud83db", "lone surrogate U+D83D"),
    ("=?UTF-8?Q?=0A?=Bcc: x", "encoded word"),
    ("=?utf-8?b?Cg==?=", "encoded word"),
    ("hi =?us-ascii?Q?a b?= ho", "encoded word"),
    ("=? utf-8 ?q?x?=", "encoded word"),
    ("=?a?x?b?=", "encoded word"),
    ("x " * 4001, "8,002 characters"),
]


@pytest.mark.parametrize(("value", "problem"), UNSAFE)
def test_an_unsafe_subject_is_refused(value: str, problem: str) -> None:
    refusal = _refusal(subject=value)

    assert refusal.field == "subject"
    assert problem in refusal.problem
    assert refusal.remedy in str(refusal)


@pytest.mark.parametrize(("value", "problem"), UNSAFE)
def test_an_unsafe_header_value_is_refused(value: str, problem: str) -> None:
    refusal = _refusal(headers={"X-Thing": value})

    assert refusal.field == "headers['X-Thing']"
    assert problem in refusal.problem
    assert refusal.remedy


@pytest.mark.parametrize(("value", "problem"), UNSAFE)
@pytest.mark.parametrize("field", ["to", "cc", "bcc", "reply_to", "sender"])
def test_an_unsafe_display_name_is_refused(field: str, value: str, problem: str) -> None:
    refusal = _refusal(**{field: (value, ADA)})

    assert refusal.field == field
    assert problem.removeprefix("8,002 ") in refusal.problem


@given(subject=st.text(max_size=30))
def test_whatever_subject_is_accepted_stays_one_header(subject: str) -> None:
    try:
        email = Email(to=ADA, subject=subject)
    except InvalidEmail:
        return
    head = composed(email).as_bytes().split(b"\r\n\r\n", 1)[0].decode()
    names = [line.partition(":")[0] for line in head.split("\r\n") if not line.startswith(" ")]

    assert names == [
        "From",
        "To",
        "Subject",
        "Date",
        "Message-ID",
        "MIME-Version",
        "Content-Type",
        "Content-Transfer-Encoding",
    ]


@pytest.mark.parametrize(
    "name",
    [
        "From",
        "Sender",
        "To",
        "Cc",
        "Bcc",
        "Subject",
        "Date",
        "Message-ID",
        "MIME-Version",
        "Content-Type",
        "Content-Anything",
        "Received",
        "Return-Path",
        "DKIM-Signature",
        "Resent-To",
    ],
)
@pytest.mark.parametrize("spelling", [str, str.upper, str.lower, str.swapcase], ids=["as is", "upper", "lower", "swap"])
def test_headers_that_postroom_writes_cannot_be_set(name: str, spelling: Any) -> None:
    refusal = _refusal(headers={spelling(name): "x"})

    assert refusal.field == f"headers[{spelling(name)!r}]"
    assert "written by Postroom" in refusal.problem


@pytest.mark.parametrize(
    "name", ["", " ", "X Thing", "X-Thing:", "X:Bcc", "X\r\nBcc", "X-Thïng", "Bcc ", "=?utf-8?q?x?=", "x" * 76, "\0"]
)
def test_a_malformed_header_name_is_refused(name: str) -> None:
    refusal = _refusal(headers={name: "x"})

    assert refusal.field == f"headers[{name!r}]"
    assert "not a header name" in refusal.problem


@pytest.mark.parametrize(
    ("fields", "field", "problem"),
    [
        ({"to": ()}, "to", "no recipient"),
        ({"to": None, "reply_to": ADA}, "to", "no recipient"),
        ({"subject": 7}, "subject", "got int"),
        ({"text": b"x"}, "text", "got bytes"),
        ({"html": b"x"}, "html", "got bytes"),
        ({"text": "a\0b"}, "text", "NUL"),
        ({"html": "a\0b"}, "html", "NUL"),
        ({"text": "a\udc80b"}, "text", "lone surrogate U+DC80"),
        ({"html": "a\ud83db"}, "html", "lone surrogate U+D83D"),
        ({"headers": {"X-Thing": 7}}, "headers['X-Thing']", "got int"),
        ({"headers": {"X-Thing": "x" * 901}}, "headers['X-Thing']", "too long for one line"),
        ({"headers": {"Reply-To": "nonsense"}}, "reply_to", "not an email address"),
        ({"headers": {"Reply-To": ADA}, "reply_to": ADA}, "headers['Reply-To']", "reply_to as well"),
        ({"attachments": [b"x"]}, "attachments", "got bytes"),
        (
            {"attachments": [Attachment("a.png", b"", content_id="x"), Attachment("b.png", b"", content_id="x")]},
            "attachments",
            "used twice",
        ),
        ({"invite": "BEGIN:VCALENDAR"}, "invite", "got str"),
        ({"tags": ["ok", ""]}, "tags", "cannot be a tag"),
        ({"tags": "a\nb"}, "tags", "cannot be a tag"),
        ({"tags": ["x" * 101]}, "tags", "cannot be a tag"),
        ({"tags": [7]}, "tags", "got int"),
    ],
)
def test_a_refusal_names_field_problem_and_remedy(fields: dict[str, Any], field: str, problem: str) -> None:
    refusal = _refusal(**fields)

    assert refusal.field == field
    assert problem in refusal.problem
    assert refusal.remedy


def test_the_limits_are_those_of_the_design() -> None:
    assert Limits() == Limits(recipients=1_000, bytes=25_000_000, key=256, headers=100)


def test_one_recipient_too_many_is_refused() -> None:
    recipients = [f"r{number}@example.org" for number in range(1001)]

    assert len(Email(to=recipients[:600], bcc=recipients[600:1000], limits=Limits()).to) == 600
    refusal = _refusal(to=recipients[:600], cc=recipients[600:800], bcc=recipients[800:], limits=Limits())
    assert "1,001 recipients" in refusal.problem


def test_an_email_by_itself_is_bound_by_no_limit() -> None:
    """It does not know yet what the outbox allows that it will be given to."""
    assert len(Email(to=[f"r{number}@example.org" for number in range(1001)]).to) == 1001


def test_one_header_too_many_is_refused() -> None:
    headers = {f"X-{number}": "x" for number in range(101)}

    assert _refusal(headers=headers, limits=Limits()).field == "headers"
    assert len(Email(to=ADA, headers=dict(list(headers.items())[:100]), limits=Limits()).headers) == 100


def test_an_email_over_25_megabytes_as_sent_is_refused() -> None:
    """Attachments grow by more than a third in base64, and it is that size which servers refuse."""
    fits, too_large = Attachment("a", b"x" * 18_000_000), Attachment("a", b"x" * 18_300_000)

    assert len(composed(Email(to=ADA, attachments=fits, limits=Limits())).as_bytes()) <= 25_000_000
    assert "about 25,0" in _refusal(attachments=too_large, limits=Limits()).problem
    assert len(composed(Email(to=ADA, attachments=too_large, limits=Limits(bytes=26_000_000))).as_bytes()) > 25_000_000


@pytest.mark.parametrize("field", ["text", "html"])
def test_a_body_over_the_size_is_refused_under_its_name(field: str) -> None:
    assert _refusal(**{field: "x" * 25_000_001}, limits=Limits()).field == field


def test_configured_limits_are_checked_by_themselves() -> None:
    email = Email(to=[ADA, "bob@example.org"])

    Limits(recipients=2).check(email, size=email.size)
    with pytest.raises(InvalidEmail, match="at most 1 each"):
        Limits(recipients=1).check(email, size=email.size)


def test_an_email_carries_its_invite() -> None:
    invite = Invite(
        uid="x", start=datetime(2026, 1, 1, tzinfo=UTC), end=datetime(2026, 1, 2, tzinfo=UTC), summary="Day"
    )

    assert Email(to=ADA, invite=invite).invite is invite

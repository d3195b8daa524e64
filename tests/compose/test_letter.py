"""A letter is the same, octet by octet, at every attempt (A2, B8)."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.compose import Address, Attachment, Email, Frozen, Invite, Letter
from postroom.compose.letter import recipients_in
from postroom.errors import InvalidEmail
from postroom.vocabulary import EmailId
from tests.compose.strategies import DATE, ID, SENDER, composed, emails
from tests.compose.test_invite import event_of

INVITE = Invite(
    uid="booking-7@example.org",
    start=datetime(2026, 7, 1, 9, tzinfo=ZoneInfo("Europe/Berlin")),
    end=datetime(2026, 7, 1, 10, tzinfo=ZoneInfo("Europe/Berlin")),
    summary="Booking",
)


def thawed(frozen: Frozen) -> Letter:
    return Letter.thaw(
        subject=frozen.subject,
        message_id=frozen.message_id,
        envelope=frozen.envelope,
        text=frozen.text,
        html=frozen.html,
        attachments=dict(frozen.attachments),
    )


@given(email=emails, invite=st.none() | st.just(INVITE), date=st.datetimes(timezones=st.just(UTC)))
def test_a_thawed_letter_is_the_letter_that_was_frozen(email: Email, invite: Invite | None, date: datetime) -> None:
    letter = Letter.compose(replace(email, invite=invite), id=ID, date=date, default_sender=SENDER)
    again = thawed(letter.freeze())

    assert again == replace(letter, tags=())
    assert again.as_bytes() == letter.as_bytes()
    assert again.freeze() == letter.freeze()


def test_an_envelope_holds_only_what_there_is() -> None:
    frozen = composed(Email(to="ada@example.org")).freeze()

    assert frozen.envelope == (
        '{"date":1777638615123456,"sender":[["Postroom","postroom@example.org"]],"to":["ada@example.org"]}'
    )


def test_an_envelope_describes_everything_but_the_content() -> None:
    attachment = Attachment("Übersicht.pdf", b"content", content_id="x")
    email = Email(
        to="Ada <ada@example.org>",
        cc="bob@example.org",
        bcc="eve@example.org",
        reply_to="desk@example.org",
        headers={"X-Thing": "ä"},
        attachments=attachment,
        invite=INVITE,
    )
    letter = composed(email)
    envelope = json.loads(letter.freeze().envelope)

    assert letter.calendar is not None
    assert envelope == {
        "date": 1777638615123456,
        "sender": [["Postroom", "postroom@example.org"]],
        "to": [["Ada", "ada@example.org"]],
        "cc": ["bob@example.org"],
        "bcc": ["eve@example.org"],
        "reply_to": ["desk@example.org"],
        "headers": [["X-Thing", "ä"]],
        "invite": {"method": "REQUEST", "ics": letter.calendar.ics},
        "attachments": [
            {
                "digest": sha256(b"content").hexdigest(),
                "filename": "Übersicht.pdf",
                "content_type": "application/pdf",
                "size": 7,
                "content_id": "x",
            }
        ],
    }


def test_one_content_attached_twice_is_frozen_once() -> None:
    email = Email(to="ada@example.org", attachments=[Attachment("a.txt", b"same"), Attachment("b.txt", b"same")])
    frozen = composed(email).freeze()

    assert frozen.attachments == ((sha256(b"same").hexdigest(), b"same"),)
    assert [each.filename for each in thawed(frozen).attachments] == ["a.txt", "b.txt"]


@pytest.mark.parametrize("text", ["a line of text\n" * 10_000, "日本語のテキスト\n" * 10_000])
def test_the_size_of_a_large_text_is_close(text: str) -> None:
    letter = composed(Email(to="ada@example.org", text=text, attachments=Attachment("a", bytes(100_000))))

    assert letter.freeze().size == pytest.approx(len(letter.as_bytes()), rel=0.05)


def test_a_frozen_letter_carries_its_tags() -> None:
    assert composed(Email(to="ada@example.org", tags=["welcome", "hub"])).freeze().tags == ("welcome", "hub")


def test_each_recipient_is_told_to_the_server_once_in_order() -> None:
    email = Email(
        to=["b@example.org", "Ada <a@example.org>"],
        cc=["c@example.org", "b@EXAMPLE.org"],
        bcc=["a@example.org", "d@example.org"],
    )
    letter = composed(email)
    expected = ("b@example.org", "a@example.org", "c@example.org", "d@example.org")

    assert letter.recipients == expected
    assert letter.freeze().recipients == expected
    assert recipients_in(letter.freeze().envelope) == expected


def test_the_default_sender_stands_in_for_a_missing_one() -> None:
    assert composed(Email(to="ada@example.org")).sender_address == "postroom@example.org"
    assert composed(Email(to="ada@example.org", sender="me@example.com")).sender_address == "me@example.com"


def test_the_message_id_is_made_of_the_id_and_the_senders_domain() -> None:
    letter = composed(Email(to="ada@example.org", sender="Me <me@mail.example.com>"))

    assert letter.message_id == f"<{ID.replace('-', '')}@mail.example.com>"


@pytest.mark.parametrize("field", ["to", "cc", "bcc", "reply_to", "sender"])
def test_smtputf8_is_needed_for_a_local_part_beyond_ascii_wherever_it_stands(field: str) -> None:
    plain = {"to": "ada@example.org", field: "Jürgen <ada@münchen.de>"}
    beyond = {"to": "ada@example.org", field: "jürgen@example.org"}

    assert not composed(Email(**plain)).needs_smtputf8  # type: ignore[arg-type]
    assert composed(Email(**beyond)).needs_smtputf8  # type: ignore[arg-type]


def _fingerprint(email: Email, *, days: int = 0, id: EmailId = ID, sender: Address = SENDER) -> str:
    return Letter.compose(email, id=id, date=DATE + timedelta(days=days), default_sender=sender).freeze().fingerprint


@given(email=emails)
def test_the_fingerprint_knows_neither_id_nor_date_nor_tags(email: Email) -> None:
    other_id = EmailId("019685b1-2c00-7000-8000-ffffffffffff")

    assert _fingerprint(email) == _fingerprint(replace(email, tags=("x",)), days=400, id=other_id)


def test_the_fingerprint_of_an_invite_does_not_depend_on_when_it_was_composed() -> None:
    email = Email(to="ada@example.org", invite=INVITE)

    assert _fingerprint(email) == _fingerprint(email, days=1)
    assert _fingerprint(email) != _fingerprint(replace(email, invite=INVITE.updated()))


FULL = Email(
    to="ada@example.org",
    subject="Hi",
    text="Hello",
    html="<p>Hello",
    headers={"X-Thing": "a"},
    attachments=Attachment("a.txt", b"a"),
)


@pytest.mark.parametrize(
    "change",
    [
        {"to": "bob@example.org"},
        {"to": "Ada <ada@example.org>"},
        {"cc": "bob@example.org"},
        {"bcc": "bob@example.org"},
        {"reply_to": "bob@example.org"},
        {"sender": "bob@example.org"},
        {"subject": "Ho"},
        {"text": "Hallo"},
        {"html": "<p>Hallo"},
        {"headers": {"X-Thing": "b"}},
        {"attachments": Attachment("a.txt", b"b")},
        {"attachments": Attachment("b.txt", b"a")},
        {"attachments": ()},
        {"invite": INVITE},
    ],
)
def test_the_fingerprint_knows_every_part_of_the_content(change: dict[str, object]) -> None:
    assert _fingerprint(FULL) != _fingerprint(replace(FULL, **change))  # type: ignore[arg-type]


def test_a_correction_changes_what_is_given_and_nothing_else() -> None:
    letter = composed(FULL)
    corrected = letter.corrected(to="Right <right@example.org>", subject="Better")

    assert corrected == replace(letter, to=(Address("Right", "right@example.org"),), subject="Better")
    assert (corrected.message_id, corrected.date) == (letter.message_id, letter.date)


def test_a_correction_can_empty_a_list_of_recipients() -> None:
    letter = composed(replace(FULL, cc="bob@example.org"))  # type: ignore[arg-type]

    assert letter.corrected(cc=()).recipients == ("ada@example.org",)


def test_corrected_html_brings_its_text_along() -> None:
    letter = composed(FULL)

    assert letter.corrected(html="<p>New</p>").text == "New"
    assert letter.corrected(html="<p>New</p>", text="Mine").text == "Mine"
    assert letter.corrected(text="Mine").html == "<p>Hello"
    assert letter.corrected(subject="Only").text == "Hello"


@pytest.mark.parametrize(
    ("field", "value"),
    [("to", "nobody"), ("to", ()), ("cc", "a b@x.org"), ("subject", "a\nBcc: x"), ("text", "a\0"), ("html", "a\0")],
)
def test_a_correction_is_checked_like_an_email(field: str, value: object) -> None:
    with pytest.raises(InvalidEmail) as refusal:
        composed(FULL).corrected(**{field: value})  # type: ignore[arg-type]

    assert refusal.value.field == field


def test_a_corrected_recipient_is_the_one_who_is_invited() -> None:
    letter = composed(Email(to="wrong@example.org", invite=INVITE))
    corrected = thawed(letter.freeze()).corrected(to="Right <right@example.org>")
    assert letter.calendar is not None
    assert corrected.calendar is not None
    before, after = event_of(letter.calendar.ics), event_of(corrected.calendar.ics)

    assert after["ATTENDEE"] == "mailto:right@example.org"
    assert (after["UID"], after["SEQUENCE"], after["DTSTART"].dt) == (
        before["UID"],
        before["SEQUENCE"],
        before["DTSTART"].dt,
    )


def test_a_correction_leaves_an_invite_alone_that_names_other_people() -> None:
    invite = Invite(uid="x", start=INVITE.start, end=INVITE.end, summary="x", attendees="boss@example.org")
    letter = composed(Email(to="wrong@example.org", invite=invite))
    corrected = letter.corrected(to="right@example.org")
    assert corrected.calendar is not None

    assert event_of(corrected.calendar.ics)["ATTENDEE"] == "mailto:boss@example.org"

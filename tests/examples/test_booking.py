"""The booking application, from the guest's side: what arrives, and what a calendar makes of it (A9)."""

from __future__ import annotations

from collections.abc import Iterator
from email import message_from_bytes, policy
from email.message import Message
from pathlib import Path
from typing import Any

import pytest
from icalendar import Calendar

from examples.booking.__main__ import main
from postroom import Outbox
from postroom.cli.app import app
from postroom.testing import ScriptedSmtp

EVENING, LATER = "2027-05-14T19:00", "2027-05-14T20:30"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedSmtp]:
    """A mail server, and the settings of an application that uses it."""
    with ScriptedSmtp() as server:
        monkeypatch.setenv("POSTROOM_DATABASE", f"sqlite:///{tmp_path / 'app.db'}")
        monkeypatch.setenv("POSTROOM_SMTP", server.url)
        monkeypatch.setenv("POSTROOM_JOURNAL", str(tmp_path / "journal"))
        yield server


def work() -> None:
    """What `postroom worker --until-idle` does."""
    with pytest.raises(SystemExit) as end:
        app(["worker", "--until-idle", "--log-level", "error"], prog_name="postroom")
    assert not end.value.code


def received(server: ScriptedSmtp) -> list[Message]:
    return [message_from_bytes(message.data, policy=policy.default) for message in server.messages]


def calendar_of(message: Message) -> tuple[str, Any]:
    """The method and the appointment, from the part that calendars look at; the attached file says the same."""
    inline, attached = (
        part for part in message.walk() if part.get_content_type() in ("text/calendar", "application/ics")
    )
    text = inline.get_payload(decode=True)
    assert attached.get_payload(decode=True) == text
    assert isinstance(text, bytes)
    calendar = Calendar.from_ical(text)
    [event] = calendar.walk("VEVENT")
    assert inline.get_param("method") == calendar["METHOD"]
    return str(calendar["METHOD"]), event


def test_a_booking_is_confirmed_moved_and_cancelled_in_the_guests_calendar(server: ScriptedSmtp) -> None:
    for arguments in (["book", "Ada", "ada@example.org", EVENING], ["move", "1", LATER], ["cancel", "1"]):
        assert main(arguments) == 0
        work()
    messages = received(server)
    found = [calendar_of(message) for message in messages]

    assert [message["Subject"] for message in messages] == [
        "Your table is booked",
        "Your table was moved",
        "Your booking is cancelled",
    ]
    assert [method for method, _ in found] == ["REQUEST", "REQUEST", "CANCEL"]
    assert [int(event["SEQUENCE"]) for _, event in found] == [0, 1, 2]
    assert len({str(event["UID"]) for _, event in found}) == 1
    assert [f"{event['DTSTART'].dt:%Y-%m-%dT%H:%M %Z}" for _, event in found] == [
        f"{EVENING} CEST",
        f"{LATER} CEST",
        f"{LATER} CEST",
    ]
    assert {str(event["ATTENDEE"]) for _, event in found} == {"mailto:ada@example.org"}


def test_a_booking_and_its_email_are_committed_together_before_anything_is_sent(server: ScriptedSmtp) -> None:
    assert main(["book", "Ada", "ada@example.org", EVENING]) == 0

    with Outbox() as outbox:
        [email] = outbox.list(tag="booking-1").emails
    assert (email.status, email.key, server.messages) == ("pending", "booking-1:0", [])


def test_a_change_that_fails_leaves_neither_row_nor_email(
    server: ScriptedSmtp, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["book", "Ada", "no address", EVENING]) == 1
    assert main(["cancel", "1"]) == 1

    assert "there is no booking 1" in capsys.readouterr().err
    with Outbox() as outbox:
        assert outbox.conservation().enqueued == 0


def test_an_inline_confirmation_is_sent_at_once(server: ScriptedSmtp, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["book", "Ada", "ada@example.org", EVENING, "--now"]) == 0

    assert capsys.readouterr().out == "booking 1: sent\n"
    assert [message.recipients for message in server.messages] == [("ada@example.org",)]


def test_an_inline_confirmation_waits_in_the_outbox_while_the_server_is_down(
    server: ScriptedSmtp, capsys: pytest.CaptureFixture[str]
) -> None:
    server.stop()
    assert main(["book", "Ada", "ada@example.org", EVENING, "--now"]) == 0
    server.start()

    assert capsys.readouterr().out == "booking 1: a worker will send the email\n"
    with Outbox() as outbox:
        [email] = outbox.list(tag="booking-1").emails
        method, event = calendar_of(message_from_bytes(outbox.letter(email.id).as_bytes(), policy=policy.default))
    assert (email.status, email.attempts, email.max_attempts) == ("pending", 0, 5)
    assert (method, int(event["SEQUENCE"])) == ("REQUEST", 0)

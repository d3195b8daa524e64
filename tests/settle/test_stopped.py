"""What it means that recipients are not to be mailed any more."""

from __future__ import annotations

from datetime import UTC, datetime

from postroom.settle.attempt import Attempted, RecipientState, RecipientStatus
from postroom.settle.policy import PRESETS
from postroom.settle.stopped import MANY, Stopping, settle_stopped, stop_recipients
from postroom.vocabulary import DeadReason, Status

OPEN, SENT, DEAD = RecipientStatus.OPEN, RecipientStatus.SENT, RecipientStatus.DEAD


def email(*states: RecipientStatus, status: Status = Status.RETRYING) -> Attempted:
    recipients = tuple(RecipientState(address=f"r{n}@example.org", status=each) for n, each in enumerate(states))
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return Attempted(status=status, attempts=3, due_at=now, policy=PRESETS["patient"], recipients=recipients)


def stopping(*places: int) -> dict[str, Stopping]:
    return {f"r{n}@example.org": Stopping(entry=f"entry-{n}", words=f"manual of day {n}") for n in places}


def test_nobody_but_who_waits_is_stopped() -> None:
    after = stop_recipients(email(OPEN, SENT, DEAD, OPEN), stopping(0, 1, 2))

    assert [state.status for state in after.recipients] == [DEAD, SENT, DEAD, OPEN]
    assert [state.text for state in after.recipients] == ["suppressed: manual of day 0", None, None, None]


def test_it_costs_no_attempt_and_names_what_stopped_it() -> None:
    outcome = settle_stopped(email(OPEN, SENT), stopping(0))

    assert (outcome.status, outcome.dead_reason, outcome.attempts) == (Status.DEAD, DeadReason.SUPPRESSED, 3)
    assert [state.status for state in outcome.recipients] == [DEAD, SENT]
    assert outcome.last_error == "not sent: its recipient is suppressed (manual of day 0)"
    assert outcome.event == {"dead_reason": "suppressed", "because": "manual of day 0", "entries": ["entry-0"]}


def test_of_many_the_first_is_named_and_the_others_are_counted() -> None:
    outcome = settle_stopped(email(*[OPEN] * 30), stopping(*range(30)))

    assert outcome.last_error == "not sent: its 30 recipients are suppressed (manual of day 0; and 29 more)"
    assert len(outcome.event["entries"]) == MANY


def test_what_was_in_doubt_may_have_arrived() -> None:
    outcome = settle_stopped(email(OPEN, status=Status.IN_DOUBT), stopping(0))

    assert (outcome.last_error or "").endswith("; it may have arrived")
    assert (outcome.recipients[0].text or "").endswith("; it may have arrived")
    assert outcome.event["possible_copy"] is True

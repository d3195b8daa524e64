"""What it means for an email that some of its recipients are not to be mailed any more.

Nothing was said to any server, so nothing counts as an attempt. Who has the email already keeps it. Where nobody is
left to get it, the email is dead, and says why; that it may have left before, it says too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from postroom.settle.attempt import Attempted, Outcome, RecipientState, RecipientStatus
from postroom.settle.outcome import give_up
from postroom.settle.wording import MAY_HAVE_ARRIVED
from postroom.vocabulary import DeadReason, Status

MANY = 20
"""Entries that the history names, of an email that many stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopping:
    """What keeps an email from one recipient."""

    entry: str
    """Its id."""
    words: str
    """What it is and since when, without addresses."""


def stop_recipients(email: Attempted, stopped: Mapping[str, Stopping]) -> Attempted:
    """The email with those of its open recipients dead whom something stops, each with the reason."""
    return replace(email, recipients=tuple(_stopped(state, stopped, email) for state in email.recipients))


def settle_stopped(email: Attempted, stopped: Mapping[str, Stopping]) -> Outcome:
    """Nobody is left who may have it: dead, `suppressed`, and named by what. No attempt is counted."""
    outcome = give_up(stop_recipients(email, stopped), DeadReason.SUPPRESSED, error=_words(list(stopped.values())))
    return replace(outcome, event=_event(email, list(stopped.values())))


def _stopped(state: RecipientState, stopped: Mapping[str, Stopping], email: Attempted) -> RecipientState:
    if state.status is not RecipientStatus.OPEN or state.address not in stopped:
        return state
    words = f"suppressed: {stopped[state.address].words}"
    if email.status is Status.IN_DOUBT:
        words = f"{words}; {MAY_HAVE_ARRIVED}"
    return replace(state, status=RecipientStatus.DEAD, code=None, text=words)


def _words(stopping: list[Stopping]) -> str:
    first, others = stopping[0], len(stopping) - 1
    if not others:
        return f"not sent: its recipient is suppressed ({first.words})"
    return f"not sent: its {others + 1} recipients are suppressed ({first.words}; and {others} more)"


def _event(email: Attempted, stopping: list[Stopping]) -> dict[str, Any]:
    """For the history. It names no outcome, for it was no attempt."""
    told: dict[str, Any] = {"dead_reason": DeadReason.SUPPRESSED.value, "because": stopping[0].words}
    if email.status is Status.IN_DOUBT:
        told["possible_copy"] = True
    return told | {"entries": [each.entry for each in stopping[:MANY]]}

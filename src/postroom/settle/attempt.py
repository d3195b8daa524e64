"""What is known of an email when an attempt ends, and what is to be recorded of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from postroom.settle.policy import RetryPolicy
from postroom.settle.verdict import TransportVerdict
from postroom.vocabulary import DeadReason, OnDoubt, Status


class RecipientStatus(StrEnum):
    """How far one recipient has come."""

    OPEN = "open"
    SENT = "sent"
    DEAD = "dead"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipientState:
    """One recipient, and the last thing that was said about them."""

    address: str
    status: RecipientStatus = RecipientStatus.OPEN
    code: int | None = None
    text: str | None = None
    """Enhanced code and text of the reply, without addresses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempted:
    """An email as it was when it was claimed."""

    status: Status
    """Before the claim: pending (also when inline), queued, retrying; in_doubt if an earlier copy may be there."""
    attempts: int
    """Counted so far, without the one that has just been made."""
    due_at: datetime
    """When it was due."""
    policy: RetryPolicy
    recipients: tuple[RecipientState, ...]
    """All of them; the envelope was made of the open ones, in this order."""
    on_doubt: OnDoubt = OnDoubt.RESEND
    expires_at: datetime | None = None
    takeovers: int = 0
    """How often its claim was found expired with the dot not sent."""
    inline: bool = False
    """The attempt is made in the caller's process and not counted."""

    @property
    def waiting(self) -> tuple[RecipientState, ...]:
        """Those who may still get it."""
        return tuple(state for state in self.recipients if state.status is RecipientStatus.OPEN)

    @property
    def open_recipients(self) -> int:
        return sum(state.status is RecipientStatus.OPEN for state in self.recipients)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What an attempt meant. All fields are to be recorded together, under the claim, or not at all."""

    status: Status
    due_at: datetime | None
    """When it is tried again; None when it is finished or waits for a person."""
    attempts: int
    takeovers: int
    recipients: tuple[RecipientState, ...]
    dead_reason: DeadReason | None = None
    last_error: str | None = None
    """A sentence with code and phase, never an address."""
    reply_code: int | None = None
    transport: TransportVerdict | None = None
    """For the circuit breaker; None when nothing was learnt."""
    event: Mapping[str, Any] = field(default_factory=dict)
    """For the history: ready for JSON, without addresses."""

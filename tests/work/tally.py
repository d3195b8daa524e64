"""What was enqueued against what the mail server received: the invariants of every crash, counted by Message-ID.

- Nothing is lost: every email is `sent` and the server has it, or it is held in doubt for a person to see.
- A second copy only where the email's own record says that there was a doubt, one doubt for each further copy.
- With `on_doubt=hold` never a second copy.
- Nobody is left `sending`, and the conservation sum holds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

from postroom import EmailId, OnDoubt, Status
from postroom.store.contract import StoredEmail
from tests.work.office import Office


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Counts over some emails, after all has come to rest."""

    emails: int = 0
    sent: int = 0
    held: int = 0
    """In doubt, waiting for a person."""
    second_copies: int = 0
    doubted: int = 0
    """Emails that were in doubt at some time."""
    lost: int = 0
    unrecorded: int = 0
    """Second copies without a doubt on record."""
    despite_hold: int = 0
    """Second copies of emails that must never have one."""
    unaccounted: int = 0
    """By how much the conservation sum is off."""

    @property
    def violations(self) -> int:
        return self.lost + self.unrecorded + self.despite_hold + self.unaccounted

    def __add__(self, other: Tally) -> Tally:
        return Tally(**{each.name: getattr(self, each.name) + getattr(other, each.name) for each in fields(Tally)})


def take(office: Office, ids: Iterable[EmailId]) -> Tally:
    """Count. Everything must have come to rest."""
    conservation = office.outbox.conservation()
    total = Tally(unaccounted=abs(conservation.enqueued - conservation.accounted))
    copies = office.server.copies_of_all()
    for id in ids:
        stored = office.get(id)
        total += _one(stored, copies[stored.message_id])
    return total


def check(office: Office, ids: Iterable[EmailId]) -> Tally:
    """Count, and find nothing wrong."""
    tally = take(office, ids)

    assert tally.lost == 0
    assert tally.unrecorded == 0
    assert tally.despite_hold == 0
    assert tally.unaccounted == 0
    assert tally.sent + tally.held == tally.emails
    return tally


def _one(email: StoredEmail, copies: int) -> Tally:
    held = email.status is Status.IN_DOUBT and email.on_doubt is OnDoubt.HOLD and email.next_attempt_at is None
    second = max(copies - 1, 0)
    return Tally(
        emails=1,
        sent=email.status is Status.SENT,
        held=held,
        second_copies=second,
        doubted=bool(email.doubts),
        lost=not ((email.status is Status.SENT and copies) or held),
        unrecorded=max(second - email.doubts, 0),
        despite_hold=second if email.on_doubt is OnDoubt.HOLD else 0,
    )

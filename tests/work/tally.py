"""What was promised against what the mail server received: the invariants of every crash.

What was enqueued is counted by Message-ID. What an application sent inline is counted by what its diary calls it, which
stands in the subject: so a copy is seen also where the same key was sent under another Message-ID, or without a row.
An email whose application was killed before it was stored was never promised, unless the server has it.

- Nothing is lost: every email is `sent` and the server has it, or it is held in doubt for a person to see.
- A second copy only where the email's own record says that there was a doubt, one doubt for each further copy.
- With `on_doubt=hold` never a second copy.
- Nobody is left `sending`, and the conservation sum holds.
- An application that is told to stop comes to an end, and the ids it was given are those of its emails.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields

from postroom import EmailId, OnDoubt, Outbox, Status
from postroom.store.contract import StoredEmail
from postroom.vocabulary import DEFAULT_ROUTE
from tests.work.diary import Promise, read_diaries
from tests.work.office import Office, subject_of


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

    fallen_back: int = 0
    """How many of them left by the fallback."""
    inline: int = 0
    """How many of them were sent from within an application."""
    failed: int = 0
    """Applications that were told to stop and did not, or broke down."""

    false_receipts: int = 0
    """Receipts under an id that nobody knows, for an email that has another."""

    @property
    def violations(self) -> int:
        return self.lost + self.unrecorded + self.despite_hold + self.other_faults

    @property
    def other_faults(self) -> int:
        return self.unaccounted + self.failed + self.false_receipts

    def __add__(self, other: Tally) -> Tally:
        return Tally(**{each.name: getattr(self, each.name) + getattr(other, each.name) for each in fields(Tally)})


def take(office: Office, ids: Iterable[EmailId]) -> Tally:
    """Count these emails, and everything that applications were promised. All must have come to rest."""
    conservation = office.outbox.conservation()
    total = Tally(unaccounted=abs(conservation.enqueued - conservation.accounted))
    for _, tally in judgements(office, ids):
        total += tally
    return total


def judgements(office: Office, ids: Iterable[EmailId]) -> Iterator[tuple[StoredEmail | Promise | None, Tally]]:
    """Email by email."""
    rows = {email.id: email for email in _everything(office.outbox)}
    copies = sum((server.copies_of_all() for server in office.servers), Counter[str]())
    for id in ids:
        stored = rows.get(id)
        yield stored, _one(stored, copies[stored.message_id]) if stored else Tally(emails=1, lost=1)
    by_tag = {email.subject: email for email in rows.values()}
    messages = [message for server in office.servers for message in server.messages]
    arrived = Counter(subject_of(message.data) for message in messages if message.accepted)
    for promise in read_diaries(office.diaries):
        tag = promise.errand.tag
        stored = by_tag.get(tag)
        yield stored or promise, _inline(promise, stored, arrived[tag])


def check(office: Office, ids: Iterable[EmailId]) -> Tally:
    """Count, and find nothing wrong."""
    tally = take(office, ids)

    assert tally.lost == 0
    assert tally.unrecorded == 0
    assert tally.despite_hold == 0
    assert tally.other_faults == 0
    assert tally.sent + tally.held == tally.emails
    return tally


def _one(email: StoredEmail, copies: int) -> Tally:
    held = email.status is Status.IN_DOUBT and email.on_doubt is OnDoubt.HOLD and email.next_attempt_at is None
    second = max(copies - 1, 0)
    return Tally(
        emails=1,
        sent=email.status is Status.SENT,
        fallen_back=email.route != DEFAULT_ROUTE,
        held=held,
        second_copies=second,
        doubted=bool(email.doubts),
        lost=not ((email.status is Status.SENT and copies) or held),
        unrecorded=max(second - email.doubts, 0),
        despite_hold=second if email.on_doubt is OnDoubt.HOLD else 0,
    )


def _inline(promise: Promise, email: StoredEmail | None, copies: int) -> Tally:
    if email is not None:
        return _one(email, copies) + Tally(inline=1, false_receipts=len(promise.ids - {email.id}))
    if not copies and not promise.ids:
        return Tally()  # it never came so far
    # Without a row nobody owns up to more than one copy, and nothing but the copy shows that it was not lost.
    return Tally(
        emails=1,
        inline=1,
        sent=bool(copies),
        lost=not copies,
        second_copies=max(copies - 1, 0),
        unrecorded=max(copies - 1, 0),
        despite_hold=max(copies - 1, 0) if promise.errand.on_doubt == "hold" else 0,
    )


def _everything(outbox: Outbox) -> Iterator[StoredEmail]:
    before = None
    while True:
        page = outbox.list(limit=1_000, before=before)
        yield from page.emails
        if page.next is None:
            return
        before = page.next

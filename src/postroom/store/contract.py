"""What a store keeps and what its verbs promise.

A store is a database, SQLite or PostgreSQL, with a file of named queries. The verbs are plans (see `plan.py`), written
once for both; each runs in one transaction and is atomic against everything else that runs at the same time:

    enqueue           the emails are in the outbox when, and only when, the transaction commits
    claim             each email is given to one caller, under a lease and a token that grows with every claim
    take_over         the same for emails whose lease ran out; the caller must settle them
    renew, release, defer
                      apply only to claims that are still the newest
    settle            applies only to claims that are still the newest, each email on its own merits
    retry, cancel, replay, dismiss
                      wait for a running claim or settle of that email, then apply to the status they find
    prune             removes finished emails in batches that never wait for, or hold up, a worker

Which suite proves it: `tests/store/`, run on both databases.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from postroom.vocabulary import DeadReason, EmailId, LeaseToken, OnDoubt, Priority, Status

if TYPE_CHECKING:
    from postroom.compose.edition import Edition
    from postroom.store.order import Order

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment(value: Any) -> datetime | None:
    """An instant as a driver returns it (a datetime, or microseconds since 1970), aware and in UTC."""
    if value is None:
        return None
    if type(value) is int:
        return _since_epoch(value)
    return value if value.tzinfo is UTC else value.astimezone(UTC)  # type: ignore[no-any-return]


@lru_cache(maxsize=512)  # emails that came together share theirs
def _since_epoch(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)


def instant(value: Any) -> datetime:
    """The same where there always is one."""
    known = moment(value)
    assert known is not None
    return known


def microseconds(instant: datetime) -> int:
    """Whole microseconds since 1970; refuses a datetime that does not say where it is."""
    if instant.tzinfo is None:
        raise ValueError(f"{instant!r} has no timezone; give an aware datetime, such as datetime.now(UTC)")
    return (instant - _EPOCH) // timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What became of one enqueue."""

    id: EmailId
    """Of the email in the outbox: the new one, or the first one under the same key."""
    duplicate: bool = False
    """The key was there already; nothing was added."""
    content_differs: bool = False
    """A duplicate whose content is not that of the first: worth a look, for one of the two is not sent."""
    suppressed: tuple[str, ...] = ()
    """Those of its recipients, as they were given, who are not to be mailed, and will not get it. The email is in the
    outbox all the same. Of a duplicate, and of emails that come in thousands at a time, it is not told."""


class Claim(NamedTuple):
    """The right to settle one email, for as long as nobody claims it anew.

    A tuple, because claims are looked up by the dozen for every email.
    """

    id: EmailId
    token: LeaseToken


@dataclass(
    slots=True, eq=False
)  # not frozen: making one is a part of sending each email, and would take thrice as long
class Claimed:
    """One email in the hands of a worker: everything an attempt needs, and nothing a settle has to ask again.

    Nobody changes one. The fields are in the order of the claim's columns.
    """

    claim: Claim
    attempts: int
    """Attempts made before this one."""
    max_attempts: int
    policy: str
    on_doubt: OnDoubt
    doubts: int
    """How often it was in doubt before: another copy may be out there."""
    takeovers: int
    """How often an owner died over it."""
    priority: Priority
    kind: str
    workspace: str
    channel: str
    route: str
    sensitive: bool
    outcomes: str | None
    """What was said to each recipient so far, as JSON; None when nothing was."""
    expires_at: datetime | None
    due_at: datetime | None
    created_at: datetime
    leased_until: datetime
    dot_noted: bool
    """A previous owner noted that the final dot might be about to leave."""
    version: int
    subject: str
    message_id: str
    envelope: str
    """Empty when the content is gone."""
    text: str | None
    html: str | None
    claimed_at: datetime
    """The store's clock at the claim."""
    unloaded: int = 0
    """About how many octets it has, when it is so large that its content was left in the store."""
    previous_owner: str | None = None
    """From whom it was taken over."""
    unsubscribable: bool = False
    """Its reader can stop such emails."""
    somebody_stopped: bool = True
    """At the claim there was somebody who is not to be mailed: perhaps one of its recipients."""
    attachments: Mapping[str, bytes] = field(default_factory=dict)
    """Contents by digest."""
    inline: bool = False
    """It is attempted by the process that took it in, and that attempt is not counted."""
    order: Order | None = None
    """What to take in should it fail, where there is no row yet …"""
    perhaps_stored: bool = False
    """… or where nobody could say whether there is one."""

    @property
    def id(self) -> EmailId:
        return self.claim.id


@dataclass(slots=True, kw_only=True)  # not frozen, as `Claimed` is not
class Settlement:
    """What an attempt meant, ready to be recorded. Nobody changes one."""

    claim: Claim
    status: Status
    attempts: int
    due_at: datetime | None = None
    dead_reason: DeadReason | None = None
    last_error: str | None = None
    reply_code: int | None = None
    reply: str | None = None
    """The last conversation in short, as JSON: shown to people."""
    outcomes: str | None = None
    doubts: int = 0
    takeovers: int = 0
    event: str | None = None
    """What to write into the history, if anything."""
    detail: str = "{}"
    order: Order | None = None
    """What to take in first if there is no row; an email that was sent needs none."""
    sensitive: bool = False
    """Once this is final, what the email says is erased. Who does not know it leaves that to a sweep."""
    written: str | None = field(default=None, init=False, compare=False, repr=False)
    """`as_row()` as JSON, where whoever made it could write that down more quickly; not taken along by `replace`."""

    def as_row(self) -> dict[str, Any]:
        """In the names of the `settle` query. What is not said is null there, so an email that was sent says little."""
        row: dict[str, Any] = {
            "id": self.claim.id,
            "token": self.claim.token,
            "status": self.status,
            "attempts": self.attempts,
            "doubts": self.doubts,
            "takeovers": self.takeovers,
            "reply_code": self.reply_code,
            "reply": self.reply,
        }
        if self.event is not None:
            row["event"] = self.event
            row["detail"] = self.detail
        if self.outcomes is not None:
            row["outcomes"] = self.outcomes
        if self.status is not Status.SENT:
            row["due_at"] = self.due_at
            row["dead_reason"] = self.dead_reason
        if self.last_error is not None:
            row["last_error"] = self.last_error
        return row


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipient:
    """Where one recipient stands."""

    address: str
    status: str
    """`open`, `sent` or `dead`; `in_doubt` where nobody knows whether they have it."""
    code: int | None = None
    text: str | None = None
    """What the server said to them last, enhanced code first, without addresses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """One line of an email's story."""

    at: datetime
    what: str
    """`failed`, `in_doubt`, `taken_over`, `rerouted`, `deferred`, `retried`, `replayed`, `cancelled`, `dismissed`, …"""
    attempt: int
    actor: str | None
    """Who, when it was a person."""
    detail: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEmail:
    """An email as the outbox knows it."""

    id: EmailId
    status: Status
    priority: Priority
    kind: str
    workspace: str
    route: str
    """The way it leaves by."""
    channel: str
    """What it is: `email`, `webhook`, `sms`, or what another package has added."""
    key: str | None
    subject: str
    message_id: str
    recipients: tuple[Recipient, ...]
    attempts: int
    max_attempts: int
    next_attempt_at: datetime | None
    """When it is due; None when it is finished, held, or under way."""
    last_error: str | None
    dead_reason: DeadReason | None
    reply_code: int | None
    policy: str
    on_doubt: OnDoubt
    sensitive: bool
    unsubscribable: bool = False
    """Its reader can stop such emails: it bears the means to do so, and goes to nobody who has."""
    tags: tuple[str, ...]
    size: int
    version: int
    """Of its content; a corrected replay adds one."""
    edition: Edition | None = None
    """The template that its words are from, where they are from one."""
    late: bool = False
    """Its words are rendered when it is first attempted, and have not been yet."""
    doubts: int
    takeovers: int
    worker: str | None
    """Who holds it while it is `sending`."""
    leased_until: datetime | None
    created_at: datetime
    expires_at: datetime | None
    last_attempt_at: datetime | None
    last_queued_at: datetime | None
    sent_at: datetime | None
    finished_at: datetime | None
    erased_at: datetime | None
    """When its content was erased: that of a sensitive email goes once it is finished."""
    reply: Mapping[str, Any] | None = None
    """The last conversation in short."""
    history: tuple[HistoryEntry, ...] = ()
    """Oldest first; given for one email, left out of lists."""
    refused_recipients: int = 0
    """How many of its recipients will not get it: refused, or given up. Also an email that was sent may have some."""
    unreadable: str | None = None
    """What of it cannot be read, being damaged, gone or of a newer version, and what to do; None when all is well."""

    @property
    def partly(self) -> bool:
        """It was sent, though not to everybody."""
        return self.status is Status.SENT and self.refused_recipients > 0

    @property
    def erased(self) -> bool:
        """Whether what it said is gone for good."""
        return self.erased_at is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which emails a list or a bulk act is about. What is None does not narrow."""

    status: Status | None = None
    kind: str | None = None
    workspace: str | None = None
    route: str | None = None
    recipient: str | None = None
    key: str | None = None
    tag: str | None = None
    portal: str | None = None
    template: str | None = None
    """With its portal: `hub.welcome`."""
    version: str | None = None
    """Of the template: the one that the words are from, or were before a person changed them."""
    language: str | None = None
    subject: str | None = None
    """Any part of the subject, in any case."""
    since: datetime | None = None
    until: datetime | None = None
    reply_code: int | None = None
    workspaces: frozenset[str] | None = None
    """Only in these, whatever else is asked: what somebody may see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Some emails, newest first."""

    emails: tuple[StoredEmail, ...]
    next: EmailId | None
    """Give it as `before` to get the next page; None on the last one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conservation:
    """Both sides of the promise that nothing is lost."""

    enqueued: int
    """Counted as emails came in."""
    counts: Mapping[str, int]
    """Counted now, row by row; `dismissed` and `pruned` as they were counted when they went."""

    @property
    def accounted(self) -> int:
        return sum(self.counts.values())

    @property
    def holds(self) -> bool:
        return self.enqueued == self.accounted

"""Handing emails to a broker, and taking them from it: the database stays the truth, messages only name its rows.

    due ──reserve──▶ queued ──claim_queued, own_queued──▶ sending
     ▲                 │
     └── release, unqueue, requeue ◀── not published, not servable, not heard of

An email is `queued` from before its message is published, under a lease of the scheduler's. So it is published once for
an attempt, a sender that is quicker than the scheduler's next statement finds it as it should be, and a message that
was lost, with the scheduler or in the broker, is missed when the lease ends.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from postroom.store.claims import WHOLE, claimed_emails, names
from postroom.store.contract import Claim, Claimed, instant
from postroom.store.fields import DEAD_REASONS
from postroom.store.plan import News, Plan, ask, ask_binary
from postroom.store.questions import asked_routes
from postroom.vocabulary import DeadReason, EmailId, LeaseToken, Priority


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserved:
    """One email leased to a scheduler, `queued` as soon as it is published."""

    claim: Claim
    priority: Priority
    attempts: int
    """Attempts made before the one that is to be published."""
    max_attempts: int
    leased_until: datetime
    """When it is due again if nobody has heard of its message."""

    @property
    def attempt(self) -> int:
        return self.attempts + 1


@dataclass(frozen=True, slots=True)
class Named:
    """What a message says: this email, for this attempt."""

    id: EmailId
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Died:
    """An email that was given up, for whoever is to be told."""

    claim: Claim
    reason: DeadReason
    attempts: int
    last_error: str | None
    at: datetime


def reserve(
    *, worker: str, lease: timedelta, seats: Mapping[Priority, int], routes: Collection[str] | None = None
) -> Plan[list[Reserved]]:
    """Take due emails of these routes, or of all, for a scheduler. No two schedulers get the same email.

    Routes take turns for the seats of a lane, so that a long backlog of one keeps nobody of another waiting; within a
    route the oldest goes first.
    """
    yield ask("run_as_written")
    rows = yield ask(
        "reserve",
        worker=worker,
        lease=lease.total_seconds(),
        urgent=seats.get(Priority.URGENT, 0),
        normal=seats.get(Priority.NORMAL, 0),
        bulk=seats.get(Priority.BULK, 0),
        routes=asked_routes(routes),
    )
    return [
        Reserved(
            claim=_claim(id, token),
            priority=Priority(priority),
            attempts=attempts,
            max_attempts=max_attempts,
            leased_until=instant(leased_until),
        )
        for id, token, priority, attempts, max_attempts, leased_until in rows
    ]


def confirm_queued(claims: Collection[Claim]) -> Plan[None]:
    """Note when the broker confirmed these."""
    if claims:
        yield ask("confirm_queued", claims=names(claims))


def claim_queued(
    messages: Collection[Named], *, worker: str, lease: timedelta, whole: int = WHOLE
) -> Plan[list[Claimed]]:
    """Take the emails that messages name. Who is missing is not queued for that attempt: the message is stale.

    Of one that is larger than `whole` the content is left in the store, as by `claim`.
    """
    if not messages:
        return []
    given = {"messages": _named(messages), "worker": worker, "lease": lease.total_seconds(), "whole": whole}
    rows = yield ask_binary("claim_queued", **given)
    return (yield from claimed_emails(rows))


def own_queued(message: Named, *, worker: str, lease: timedelta) -> Plan[Claim | None]:
    """Become the owner of the email that a message names, and read nothing of it; None when the message is stale.

    For a message that may have killed whoever had it before: an owner's death is noticed, and counted.
    """
    rows = yield ask("own_queued", id=message.id, attempt=message.attempt, worker=worker, lease=lease.total_seconds())
    return next((_claim(id, token) for id, token in rows), None)


def read_owned(claim: Claim, *, whole: int = WHOLE) -> Plan[list[Claimed]]:
    """What its owner needs to send it, as by `claim_queued`; nothing when it is no longer the owner."""
    rows = yield ask("read_owned", id=claim.id, token=claim.token, whole=whole)
    return (yield from claimed_emails(rows))


def unqueue(messages: Collection[Named]) -> Plan[None]:
    """Make the emails that messages name due again: whoever holds the messages cannot send just now."""
    if messages:
        rows = yield ask("unqueue", messages=_named(messages))
        yield from _wake({route for _id, route in rows})


def requeue(*, limit: int) -> Plan[list[Named]]:
    """Make emails due again whose message was not heard of before the lease ran out."""
    rows = yield ask("requeue", limit=limit)
    yield from _wake({route for _id, _attempts, route in rows})
    return [Named(EmailId(id), attempts + 1) for id, attempts, _route in rows]


def give_up(claims: Collection[Claim]) -> Plan[set[EmailId]]:
    """Declare reserved emails dead that have no attempt left; what the last attempt said stays."""
    if not claims:
        return set()
    rows = yield ask("give_up", claims=names(claims))
    dead = {EmailId(row[0]) for row in rows}
    yield News(dead)
    return dead


def unannounced(*, limit: int) -> Plan[list[Died]]:
    """Emails that were given up and nobody was told."""
    rows = yield ask("unannounced", limit=limit)
    return [
        Died(
            claim=_claim(id, token),
            reason=DEAD_REASONS[reason],
            attempts=attempts,
            last_error=last_error,
            at=instant(at),
        )
        for id, token, reason, attempts, last_error, at in rows
    ]


def announced(claims: Collection[Claim]) -> Plan[None]:
    """Somebody was told of these. One that has been brought back to life meanwhile will be told of anew."""
    if claims:
        yield ask("announced", claims=names(claims))


@dataclass(frozen=True, slots=True)
class Awaiting:
    """What a broker may have to carry."""

    due: bool
    queued: bool


def awaiting(routes: Collection[str] | None = None) -> Plan[Awaiting]:
    """Whether anything of these routes, or of all, is due, and whether anything is queued."""
    [[due, queued]] = yield ask("awaiting_dispatch", routes=asked_routes(routes))
    return Awaiting(bool(due), bool(queued))


def _wake(routes: Collection[str]) -> Plan[None]:
    if routes:
        yield ask("wake_routes", routes=sorted(routes))


def _claim(id: str, token: int) -> Claim:
    return Claim(id=EmailId(id), token=LeaseToken(token))


def _named(messages: Collection[Named]) -> list[dict[str, object]]:
    """In the order of their ids, as everywhere."""
    return [
        {"id": message.id, "attempt": message.attempt} for message in sorted(messages, key=lambda message: message.id)
    ]

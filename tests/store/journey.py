"""The journey of an email in short words: what a worker would do to it, done by hand in a test."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from postroom import DeadReason, Email, EmailId, Outbox, Status
from postroom.outbox.submission import Submission
from postroom.store import claims, dispatch
from postroom.store.contract import Claim, Claimed, Settlement
from postroom.store.dispatch import Died, Named, Reserved
from postroom.store.enqueue import enqueue as enqueue_orders
from postroom.vocabulary import LANES

LEASE = timedelta(seconds=30)


class Clock:
    """Stands still until told otherwise. Starts now, because ids carry the machine's time."""

    def __init__(self) -> None:
        self.now = datetime.now(UTC)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **duration: float) -> datetime:
        self.now += timedelta(**duration)
        return self.now


def email(subject: str = "Hi", **fields: Any) -> Email:
    return Email(**({"to": "ada@example.org", "subject": subject, "text": "Good morning."} | fields))


def enqueue(outbox: Outbox, count: int = 1, **wishes: Any) -> list[EmailId]:
    """So many emails, one after another."""
    return [outbox.enqueue(email(f"Email {number}"), **wishes).id for number in range(count)]


def enqueue_on(outbox: Outbox, route: str, count: int = 1, **wishes: Any) -> list[EmailId]:
    """So many emails that leave by this route."""
    now = outbox.database.dialect.clock()
    given = [Submission.of(email(f"Email {number}"), **wishes) for number in range(count)]
    orders = [replace(outbox.rules.order(each, now=now), route=route) for each in given]
    return [receipt.id for order in orders for receipt in outbox.database.run(enqueue_orders([order]))]


def claim(outbox: Outbox, count: int = 100, *, worker: str = "worker", lease: timedelta = LEASE) -> list[Claimed]:
    return outbox.database.run(claims.claim(worker=worker, lease=lease, urgent=count, normal=0, bulk=0))


def claim_lanes(outbox: Outbox, *, urgent: int, normal: int, bulk: int) -> list[Claimed]:
    return outbox.database.run(claims.claim(worker="worker", lease=LEASE, urgent=urgent, normal=normal, bulk=bulk))


def claim_on(
    outbox: Outbox, route: str, count: int = 100, *, onto: str | None = None, reason: str = ""
) -> list[Claimed]:
    """Of one route, perhaps to leave by another."""
    return outbox.database.run(
        claims.claim(
            worker="worker", lease=LEASE, urgent=count, normal=0, bulk=0, route=route, onto=onto, reason=reason
        )
    )


def take_over(outbox: Outbox, *, limit: int = 100, worker: str = "another worker") -> list[Claimed]:
    return outbox.database.run(claims.take_over(worker=worker, lease=LEASE, limit=limit))


def renew(outbox: Outbox, held: Collection[Claim], *, lease: timedelta = LEASE) -> dict[EmailId, datetime]:
    return outbox.database.run(claims.renew(held, lease=lease))


def release(outbox: Outbox, held: Collection[Claim]) -> set[EmailId]:
    return outbox.database.run(claims.release(held))


def note_dots(outbox: Outbox, held: Collection[Claim]) -> set[EmailId]:
    return outbox.database.run(claims.note_dots(held))


def settle(outbox: Outbox, settlements: Iterable[Settlement], *, keep_sent: bool = True) -> set[EmailId]:
    return outbox.database.run(claims.settle(list(settlements), keep_sent=keep_sent))


def reserve(outbox: Outbox, count: int = 100, *, worker: str = "scheduler", lease: timedelta = LEASE) -> list[Reserved]:
    return outbox.database.run(dispatch.reserve(worker=worker, lease=lease, seats=dict.fromkeys(LANES, count)))


def claim_queued(outbox: Outbox, messages: Collection[Named], *, worker: str = "sender") -> list[Claimed]:
    return outbox.database.run(dispatch.claim_queued(messages, worker=worker, lease=LEASE))


def named(reserved: Reserved) -> Named:
    """What the message of a reserved email says."""
    return Named(reserved.claim.id, reserved.attempt)


def unannounced(outbox: Outbox) -> list[Died]:
    return outbox.database.run(dispatch.unannounced(limit=100))


def sent(claimed: Claimed, **fields: Any) -> Settlement:
    return _settlement(claimed, Status.SENT, {"reply_code": 250} | fields)


def retrying(claimed: Claimed, due_at: datetime, **fields: Any) -> Settlement:
    failed = {"due_at": due_at, "last_error": "451 try later", "reply_code": 451, "event": "failed"}
    return _settlement(claimed, Status.RETRYING, failed | fields)


def dead(claimed: Claimed, **fields: Any) -> Settlement:
    refused = {
        "dead_reason": DeadReason.PERMANENT,
        "last_error": "550 no such user",
        "reply_code": 550,
        "event": "failed",
        "detail": json.dumps({"code": 550}),
    }
    return _settlement(claimed, Status.DEAD, refused | fields)


def in_doubt(claimed: Claimed, due_at: datetime | None, **fields: Any) -> Settlement:
    doubted = {"due_at": due_at, "last_error": "no reply to the dot", "doubts": claimed.doubts + 1, "event": "in_doubt"}
    return _settlement(claimed, Status.IN_DOUBT, doubted | fields)


def _settlement(claimed: Claimed, status: Status, fields: dict[str, Any]) -> Settlement:
    known = {"doubts": claimed.doubts, "takeovers": claimed.takeovers, "outcomes": claimed.outcomes}
    return Settlement(**{"claim": claimed.claim, "status": status, "attempts": claimed.attempts + 1} | known | fields)


def bring_to(outbox: Outbox, status: Status, **wishes: Any) -> EmailId:
    """A new email, brought to this status by the way it usually gets there. Nothing else may be due."""
    id = outbox.enqueue(email(f"An email that is {status}"), **wishes).id
    now = outbox.database.dialect.clock()
    assert now is not None
    match status:
        case Status.PENDING:
            return id
        case Status.CANCELLED:
            outbox.cancel(id)
            return id
        case Status.QUEUED:
            [reserved] = reserve(outbox)
            assert reserved.claim.id == id, "something else was due"
            return id
    [claimed] = claim(outbox)
    assert claimed.id == id, "something else was due"
    match status:
        case Status.SENT:
            settle(outbox, [sent(claimed)])
        case Status.DEAD:
            settle(outbox, [dead(claimed)])
        case Status.RETRYING:
            settle(outbox, [retrying(claimed, now + timedelta(minutes=1))])
        case Status.IN_DOUBT:
            settle(outbox, [in_doubt(claimed, None)])
        case Status.SENDING:
            pass
        case _:
            raise AssertionError(f"no way is known to {status}")
    return id

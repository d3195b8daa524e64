"""Inline first, with a durable fallback: send now if it can be done now, and let the outbox keep what cannot.

The durable form stores the email already leased to this process, sends it and settles it, so that a crash anywhere
loses nothing. The pure form writes a row only when the send has failed. Either way the attempt made here is not
counted: the worker's first one follows after the delay that the policy has before attempt 1.

What to do in which order is a course (see `store/plan.py`) that yields plans for the database and parcels for the
transport; it is written once, and carried out by a blocking shell and by an awaiting one.
"""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Protocol

from postroom.errors import ConfigurationError, PostroomError, SchemaError
from postroom.logs import logger
from postroom.send.contract import FaultKind, Report
from postroom.settle.outcome import settle
from postroom.store import claims
from postroom.store.contract import Claim, Claimed, Receipt, Settlement
from postroom.store.enqueue import enqueue
from postroom.store.order import Lease, Order
from postroom.store.plan import Plan
from postroom.vocabulary import EmailId, LeaseToken, Status
from postroom.work.parcel import Parcel, left_in_doubt, pack, settlement
from postroom.work.telling import tell_attempt

FIRST_TOKEN = LeaseToken(1)
"""Of an email that was stored leased."""

WAITING = (Status.PENDING, Status.RETRYING, Status.IN_DOUBT)


@dataclass(frozen=True, slots=True, kw_only=True)
class SendOutcome:
    """What became of an inline send."""

    id: EmailId
    """Of the email in the outbox; after a clean inline send with no row to keep, of the email that was."""
    sent: bool = False
    """The server has it."""
    queued: bool = False
    """It waits in the outbox and a worker will send it."""
    duplicate: bool = False
    """Its key was there already: nothing was done, and `id` is the first one's."""
    error: str | None = None
    """Why it was not sent at once, without addresses."""


Step = Plan[Any] | Parcel | Settlement | Claim
"""A plan for the database; a parcel to attempt; an outcome to note in the journal; a claim the journal may forget."""

InlineCourse = Generator[Step, Any, SendOutcome]


class Messenger(Protocol):
    """Who attempts parcels and keeps the journal, for callers that block."""

    def attempt(self, parcel: Parcel) -> Report: ...
    def note(self, concluded: Settlement) -> None: ...
    def forget(self, claim: Claim) -> None: ...


class AsyncMessenger(Protocol):
    """The same for callers that await."""

    async def attempt(self, parcel: Parcel) -> Report: ...
    def note(self, concluded: Settlement) -> None: ...
    def forget(self, claim: Claim) -> None: ...


def send_inline(order: Order, *, durable: bool, keep_sent: bool, lease: Lease) -> InlineCourse:
    """Send now, or keep it. Email trouble, and even a database that is away, never raises."""
    order = replace(order, lease=lease)
    stored = False
    if durable or order.key is not None:  # a key is only worth something once it is in the database
        try:
            receipt = yield take_in(order)
        except (SchemaError, ConfigurationError):
            raise  # nothing about email: the outbox was never set up
        except Exception as error:  # noqa: BLE001  a database that is away, or refuses us, must not cost the email
            logger.error("sending inline without a row", error=_words(error))
        else:
            if receipt.duplicate:
                return SendOutcome(id=receipt.id, duplicate=True)
            stored = True
    return (yield from attempt_inline(order, stored=stored, keep_sent=keep_sent))


def take_in(order: Order) -> Plan[Receipt]:
    """Store one order."""
    return (yield from enqueue([order]))[0]


def attempt_inline(order: Order, *, stored: bool, keep_sent: bool) -> InlineCourse:
    """Attempt an order and record what came of it, in its row or in a new one."""
    parcel = pack(as_claimed(order), deadline=time.monotonic() + _seconds(order), inline=True)
    try:
        report: Report = yield parcel
    except Exception as error:  # noqa: BLE001  whatever it is, the email is kept and the caller goes on
        logger.error("inline send failed unexpectedly", email_id=order.id, error=type(error).__name__)
        return (yield from _fall_back(order, stored=stored, error=f"inline send failed ({type(error).__name__})"))
    if report.fault is not None and report.fault.kind is FaultKind.ABANDONED:
        return (yield from _fall_back(order, stored=stored, error="there was no time left to send it inline"))
    outcome = settle(parcel.attempted, report, now=datetime.now(UTC), jitter=random.random())
    tell_attempt(order.id, outcome, report)
    concluded = settlement(parcel.claimed, outcome, doubt=left_in_doubt(report))
    result = SendOutcome(
        id=order.id,
        sent=outcome.status is Status.SENT,
        queued=outcome.status in WAITING,
        error=outcome.last_error,
    )
    if not stored and result.sent:
        return result
    return (yield from _record(order, concluded, result, stored=stored, keep_sent=keep_sent))


def _record(order: Order, concluded: Settlement, result: SendOutcome, *, stored: bool, keep_sent: bool) -> InlineCourse:
    yield concluded
    try:
        yield _settled(order, concluded, stored=stored, keep_sent=keep_sent)
        yield concluded.claim
    except Exception as error:  # noqa: BLE001  the email's fate is known; that it could not be stored is logged
        # With a row, its lease runs out and a worker finds out; without one, this log line is all there is.
        log = logger.warning if stored or result.sent else logger.error
        log("the outcome of an inline send could not be stored", email_id=order.id, error=_words(error))
        if not stored and not result.sent:
            return replace(result, queued=False, error=f"{result.error}; and the outbox did not take it")
    return result


def _settled(order: Order, concluded: Settlement, *, stored: bool, keep_sent: bool) -> Plan[None]:
    if not stored:
        yield from enqueue([order])
    yield from claims.settle([concluded], keep_sent=keep_sent)


def _fall_back(order: Order, *, stored: bool, error: str) -> InlineCourse:
    claim = Claim(id=order.id, token=FIRST_TOKEN)
    if stored:
        yield claims.release([claim])
    else:
        yield take_in(replace(order, lease=None))
    return SendOutcome(id=order.id, queued=True, error=error)


def as_claimed(order: Order) -> Claimed:
    """A new order as its own claim, without asking the database for what we have in hand."""
    letter, now = order.letter, datetime.now(UTC)
    return Claimed(
        claim=Claim(id=order.id, token=FIRST_TOKEN),
        attempts=0,
        max_attempts=order.max_attempts,
        policy=order.policy,
        on_doubt=order.on_doubt,
        doubts=0,
        takeovers=0,
        priority=order.priority,
        kind=order.kind,
        workspace=order.workspace,
        channel=order.channel,
        sensitive=order.sensitive,
        outcomes=None,
        expires_at=order.expires_at,
        due_at=now,
        created_at=now,
        leased_until=now,
        dot_noted=False,
        version=1,
        subject=letter.subject,
        message_id=letter.message_id,
        envelope=letter.envelope,
        text=letter.text,
        html=letter.html,
        claimed_at=now,
        attachments=dict(letter.attachments),
    )


def _words(error: Exception) -> str:
    """Our own errors name no address; a driver's may quote anything."""
    return str(error) if isinstance(error, PostroomError) else type(error).__name__


def _seconds(order: Order) -> float:
    assert order.lease is not None
    return order.lease.seconds


def carry(course: InlineCourse, run: Callable[[Plan[Any]], Any], messenger: Messenger) -> SendOutcome:
    """Carry out an inline course, blocking."""
    try:
        step = next(course)
        while True:
            try:
                match step:
                    case Parcel():
                        result: Any = messenger.attempt(step)
                    case Settlement():
                        result = None
                        messenger.note(step)
                    case Claim():
                        result = None
                        messenger.forget(step)
                    case _:
                        result = run(step)
            except Exception as error:  # noqa: BLE001  the course decides what it can live with
                step = course.throw(error)
            else:
                step = course.send(result)
    except StopIteration as finished:
        return finished.value  # type: ignore[no-any-return]


async def acarry(
    course: InlineCourse, run: Callable[[Plan[Any]], Awaitable[Any]], messenger: AsyncMessenger
) -> SendOutcome:
    """Carry out an inline course, awaiting."""
    try:
        step = next(course)
        while True:
            try:
                match step:
                    case Parcel():
                        result: Any = await messenger.attempt(step)
                    case Settlement():
                        result = None
                        messenger.note(step)
                    case Claim():
                        result = None
                        messenger.forget(step)
                    case _:
                        result = await run(step)
            except Exception as error:  # noqa: BLE001  the course decides what it can live with
                step = course.throw(error)
            else:
                step = course.send(result)
    except StopIteration as finished:
        return finished.value  # type: ignore[no-any-return]

"""What callers of an inline send are told, and when: an email in hand, from taking it on to its record."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from postroom.compose.frozen import recipients_in
from postroom.errors import PostroomError
from postroom.logs import logger
from postroom.store.contract import Claim, Claimed, Receipt, Settlement
from postroom.store.enqueue import enqueue
from postroom.store.order import Order
from postroom.store.plan import Plan, ask
from postroom.store.suppressions import SuppressionRules
from postroom.vocabulary import DeadReason, EmailId, LeaseToken, Status

FIRST_TOKEN = LeaseToken(1)
"""Of an email that was stored leased."""
RECORDED = 2.0
"""Seconds to wait for the record of a send whose end is known."""

NOT_NOW = "it could not be sent at once; a worker will send it"
UNDER_WAY = "the server has not answered yet; what has begun goes on"
MUCH_TO_DO = "there is much to send already; a worker will send it"
CLOSING = "this outbox is being closed; a worker will send it"
NOT_KEPT = "and the outbox did not take it yet"
NOBODY_LEFT = "not sent: all of its recipients are suppressed"

WAITING = (Status.PENDING, Status.RETRYING, Status.IN_DOUBT)


@dataclass(frozen=True, slots=True, kw_only=True)
class SendOutcome:
    """What became of an inline send."""

    id: EmailId
    """Of the email in the outbox; after a clean inline send with no row to keep, of the email that was."""
    sent: bool = False
    """The server has it."""
    queued: bool = False
    """It is in the outbox: a worker will send it, or this process is still about it."""
    duplicate: bool = False
    """Its key was there already: nothing was done, and `id` is the first one's."""
    suppressed: tuple[str, ...] = ()
    """Those of its recipients who are not to be mailed, and did not get it. Where these are all, it is neither sent nor
    queued: it is in the outbox, `dead` or soon to be, with the reason `suppressed`."""
    error: str | None = None
    """Why it was not sent at once, without addresses."""


def take_in(order: Order, *, rules: SuppressionRules) -> Plan[Receipt]:
    """Store one order."""
    return (yield from enqueue([order], rules=rules))[0]


def take_in_if_absent(order: Order, *, rules: SuppressionRules) -> Plan[Receipt]:
    """Store one order, unless it is there already: an earlier try may have got through."""
    if (yield ask("placed", ids=[order.id])) or (yield ask("departed", ids=[order.id])):
        return Receipt(id=order.id)
    return (yield from take_in(order, rules=rules))


def kept(receipt: Receipt, order: Order, why: str | None) -> SendOutcome:
    """It was stored for a worker instead of being sent; for nothing, where nobody is left who may have it."""
    nobody = reaches_nobody(receipt, order)
    return SendOutcome(
        id=receipt.id,
        duplicate=receipt.duplicate,
        queued=not receipt.duplicate and not nobody,
        suppressed=receipt.suppressed,
        error=NOBODY_LEFT if nobody else why,
    )


def reaches_nobody(receipt: Receipt, order: Order) -> bool:
    """Every recipient of an order is not to be mailed."""
    return bool(receipt.suppressed) and set(receipt.suppressed).issuperset(order.letter.recipients)


class InHand:
    """An email that this process is about."""

    def __init__(self, email: Claimed, *, suppressed: tuple[str, ...] = ()) -> None:
        """`suppressed`: those of its recipients who, as it was stored, were not to be mailed."""
        self.email = email
        self.suppressed = suppressed
        self.known: Settlement | None = None
        self.kept: SendOutcome | None = None
        """What became of an email without a row that was given back: it has been taken in, or could not be."""
        self.concluded = asyncio.Event()
        """It is known what became of it, or it is out of our hands."""
        self.gone = asyncio.Event()
        """It is recorded, or somebody else's."""

    @property
    def goes_nowhere(self) -> bool:
        """Nobody is left who may have it."""
        return bool(self.suppressed) and set(self.suppressed).issuperset(recipients_in(self.email.envelope))

    async def outcome(self, patience: float) -> SendOutcome:
        """What became of it, recorded if that does not take long; after so many seconds, that it is under way."""
        await _within(patience, self.concluded)
        if self.kept is not None:
            return self.kept
        if self.known is None:
            stored = self.email.order is None
            why = NOT_NOW if self.gone.is_set() else UNDER_WAY
            return SendOutcome(id=self.email.id, queued=stored, suppressed=self.suppressed, error=why)
        if self.email.order is None or self.known.status is not Status.SENT:
            await _within(RECORDED, self.gone)
        return self._told(self.known)

    def _told(self, known: Settlement) -> SendOutcome:
        recorded = self.gone.is_set() or self.email.order is None
        return SendOutcome(
            id=self.email.id,
            sent=known.status is Status.SENT,
            queued=known.status in WAITING and recorded,
            suppressed=self._suppressed(known),
            error=known.last_error if recorded or known.status is Status.SENT else f"{known.last_error}; {NOT_KEPT}",
        )

    def _suppressed(self, known: Settlement) -> tuple[str, ...]:
        if known.dead_reason is DeadReason.SUPPRESSED:
            return self.suppressed or recipients_in(self.email.envelope)
        return self.suppressed


async def _within(seconds: float, event: asyncio.Event) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


def as_claimed(order: Order, *, now: datetime, row: bool = True, perhaps: bool = False) -> Claimed:
    """A new order as its own claim, without asking the database for what we have in hand.

    `row`: it was stored under its lease; else it is to be taken in should it fail. `perhaps`: nobody knows.
    """
    letter = order.letter
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
        route=order.route,
        sensitive=order.sensitive,
        outcomes=None,
        expires_at=order.expires_at,
        due_at=now,
        created_at=now,
        leased_until=now,
        dot_noted=False,
        version=1,
        unsubscribable=order.unsubscribable,
        subject=letter.subject,
        message_id=letter.message_id,
        envelope=letter.envelope,
        text=letter.text,
        html=letter.html,
        claimed_at=now,
        attachments=dict(letter.attachments),
        inline=True,
        order=None if row else order,
        perhaps_stored=perhaps,
    )


def refused(order: Order, error: Exception) -> SendOutcome:
    """It was neither sent nor stored, and the caller must know."""
    logger.error("an email was neither sent nor stored", error=words_of(error))
    return SendOutcome(id=order.id, error=f"nothing was sent, for the outbox did not take it: {words_of(error)}")


def words_of(error: Exception) -> str:
    """Our own errors name no address; a driver's may quote anything."""
    return str(error) if isinstance(error, PostroomError) else type(error).__name__

"""Whether an inline send may leave now; and its row, written in the same transaction.

An application obeys what workers and people know of the transport: while it is paused, open or throttled, or its rate
is used up, an email is taken in for later at once, without a time-out. The question and the row are one transaction,
so that the lease counts from there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from postroom.claim.allowance import reserve_rate, return_rate
from postroom.claim.rate import Rate
from postroom.store.contract import Receipt
from postroom.store.enqueue import enqueue
from postroom.store.order import Order
from postroom.store.plan import Plan
from postroom.work.breaker import Breaker
from postroom.work.transports import standing_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """What became of an order that wants to leave at once."""

    now: datetime
    """By the database's clock."""
    breaker: Breaker
    obstacle: str | None
    """Why it has to wait; None when it may leave."""
    receipt: Receipt | None
    """Of its row; None where it may leave and wants no row."""


def admit(order: Order, *, transport: str, rate: Rate | None, store: bool) -> Plan[Admission]:
    """Let an order leave, stored under its lease if `store`; or take it in for a worker, due now."""
    standing = yield from standing_of(transport)
    obstacle = _closed(standing.breaker, standing.now)
    if obstacle is None and rate is not None and not (yield from reserve_rate(transport, 1, rate)).granted:
        obstacle = f"the rate of {rate} is used up just now"
    receipt = None
    if store or obstacle is not None:
        [receipt] = yield from enqueue([order if obstacle is None else replace(order, lease=None)])
    if rate is not None and obstacle is None and receipt is not None and receipt.duplicate:
        yield from return_rate(transport, 1, rate)
    return Admission(now=standing.now, breaker=standing.breaker, obstacle=obstacle, receipt=receipt)


def _closed(breaker: Breaker, now: datetime) -> str | None:
    if breaker.may_send(now):
        return None
    return f"the transport is {breaker.state}: {breaker.reason}" if breaker.reason else f"it is {breaker.state}"

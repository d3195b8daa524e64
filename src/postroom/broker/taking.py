"""How a sender makes the emails that messages name its own.

Messages that come for the first time are claimed many at a time, contents and all. One that comes back, because its
sender died or lost the broker, may be what its sender died of, long before anybody had claimed the email: on reading
it, or while its content was being fetched. Such a death leaves no trace in the database, and RabbitMQ would deliver the
message again and again, and schedulers publish it anew, for ever.

So a message that comes back is taken with care: alone, and its email is owned, durably, before anything else is read
or done. Whoever dies over it then dies as its owner, and the email is taken over as from any dead worker: each time is
in its history, and the count of take-overs ends it as `dead`, `max_attempts`, when it reaches the policy's limit.

Why not count lost messages instead? A broker that is purged, wiped or restored from an old backup loses thousands of
healthy emails' messages at once, perhaps several times in a row, and none of them has done any harm. A message that
has vanished is published again when its lease ends, as often as it takes, and counts for nothing. Why alone? A sender
has hundreds of messages in hand when it dies, and only one of them killed it: the others must not be blamed with it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from postroom.broker.consumption import Consumption, Delivery
from postroom.broker.meter import DispatchMeter
from postroom.claim.allowance import Allowance
from postroom.claim.failpoint import reach
from postroom.claim.feed import Workbench
from postroom.claim.room import whole_up_to
from postroom.claim.route import Route
from postroom.errors import StoreUnavailable
from postroom.logs import logger
from postroom.store import dispatch
from postroom.store.contract import Claim, Claimed
from postroom.store.dispatch import Named


class Taker:
    """Claims what messages name into a worker's buffer, and acknowledges them when their emails are held no longer."""

    def __init__(self, bench: Workbench, meter: DispatchMeter, allowances: Mapping[str, Allowance]) -> None:
        """`allowances`: of the routes whose rates are to be kept here, because nobody asked before the claim."""
        self._bench = bench
        self._meter = meter
        self._allowances = allowances
        self._messages: dict[Claim, tuple[Consumption, int]] = {}
        """Which message brought a claim; it is acknowledged when the claim is held no longer."""
        bench.holdings.gone = self._acknowledge

    async def take(self, consumption: Consumption, taken: Sequence[Delivery]) -> int:
        """Claim the emails of these messages; those of messages that came too late are left alone."""
        if not taken:
            return 0
        bench, asked = self._bench, time.monotonic()
        messages: dict[Named, Delivery] = {}
        for delivery in taken:
            reach("received", delivery.named.id)
            messages.setdefault(delivery.named, delivery)
        try:
            whole = whole_up_to(bench.in_hand() + len(messages))
            plan = dispatch.claim_queued(messages, worker=bench.worker, lease=bench.lease, whole=whole)
            emails = await bench.database.run(bench.guard(plan), atomic=False)
        except StoreUnavailable:
            consumption.put_back(taken)
            raise
        await self._hold(consumption, emails, messages, asked=asked)
        brought = {messages[_named(email)].tag for email in emails}
        self._drop_stale(consumption, [delivery for delivery in taken if delivery.tag not in brought])
        return len(emails)

    async def take_with_care(self, consumption: Consumption, delivery: Delivery) -> int:
        """Own the email of a message that came back, then read it."""
        bench, asked, named = self._bench, time.monotonic(), delivery.named
        try:
            plan = dispatch.own_queued(named, worker=bench.worker, lease=bench.lease)
            claim = await bench.database.run(bench.guard(plan), atomic=False)
            emails = await self._read(claim) if claim is not None else []
        except StoreUnavailable:
            consumption.put_back([delivery])  # what is owned and could not be read is due when its lease ends
            raise
        await self._hold(consumption, emails, {named: delivery}, asked=asked)
        if not emails:
            self._drop_stale(consumption, [delivery])
        return len(emails)

    async def _read(self, claim: Claim) -> list[Claimed]:
        reach("received", claim.id)
        plan = dispatch.read_owned(claim, whole=whole_up_to(self._bench.in_hand() + 1))
        return await self._bench.database.run(plan, writes=False)

    async def _hold(
        self, consumption: Consumption, emails: list[Claimed], messages: dict[Named, Delivery], *, asked: float
    ) -> None:
        bench = self._bench
        bench.meter.claimed(emails, time.monotonic() - asked)
        for email in emails:
            self._messages[email.claim] = consumption, messages[_named(email)].tag
        if not emails:
            return
        reach("claimed")
        bench.holdings.add(emails, asked=asked)
        by_route: dict[str, list[Claimed]] = {}
        for email in emails:
            by_route.setdefault(email.route, []).append(email)
        for name, some in by_route.items():
            await self._hand_over(name, some)

    async def _hand_over(self, name: str, emails: list[Claimed]) -> None:
        """Have the emails of a route sent, as many as may leave now; the others are due again, or a little later."""
        bench, way = self._bench, self._bench.ways.get(name)
        if way is None:
            bench.unknown(emails)
        elif not way.gate.may_send():
            await bench.holdings.give_back([email.claim for email in emails])
        else:
            granted = await self._granted(name, len(emails))
            await bench.hand_over(emails[:granted], way.buffer.add)
            await self._put_off(way.route, emails[granted:])

    async def _granted(self, name: str, wanted: int) -> int:
        if (allowance := self._allowances.get(name)) is None:
            return wanted
        try:
            return await allowance.grant_at_once(wanted)
        except StoreUnavailable:
            return 0

    async def _put_off(self, route: Route, emails: list[Claimed]) -> None:
        """Each until its turn at the pace of the rate: so it comes back about once."""
        for place, email in enumerate(emails, start=1):
            seconds = place * route.rate.interval / 1_000_000 if route.rate else 0.0
            reason = f"the rate of {route.rate} is used up"
            await self._bench.holdings.put_off([email.claim], seconds=seconds, reason=reason)

    def _drop_stale(self, consumption: Consumption, stale: Sequence[Delivery]) -> None:
        """A copy, a latecomer, somebody else's email, or none at all: nothing to send."""
        if not stale:
            return
        self._meter.stale(len(stale))
        for delivery in stale:
            logger.info("message is stale", email_id=delivery.named.id, attempt=delivery.named.attempt)
            consumption.done(delivery.tag)

    def _acknowledge(self, claim: Claim) -> None:
        brought = self._messages.pop(claim, None)
        if brought is not None:
            consumption, tag = brought
            consumption.done(tag)


def _named(email: Claimed) -> Named:
    return Named(email.id, email.attempts + 1)

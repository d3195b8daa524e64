"""Brings a sender its emails: those that messages name, claimed under the same leases as any.

A message is acknowledged when its email no longer depends on it: settled, given back, or not queued for that attempt in
the first place. A sender that dies before that has its messages delivered to another, which finds them stale; the
emails themselves are recovered as those of any dead worker.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from contextlib import suppress
from enum import StrEnum

from postroom.broker.consumption import Consumption, Delivery
from postroom.broker.link import BrokerAway, Link, Session
from postroom.broker.meter import UNMETERED_DISPATCH, DispatchMeter
from postroom.broker.topology import Broker
from postroom.claim.allowance import Allowance
from postroom.claim.due import Claimer
from postroom.claim.failpoint import reach
from postroom.claim.feed import Workbench, first_of
from postroom.claim.lanes import shares
from postroom.claim.room import whole_up_to
from postroom.errors import StoreUnavailable
from postroom.logs import logger
from postroom.store import dispatch
from postroom.store.contract import Claim, Claimed
from postroom.store.dispatch import Named

PREFETCH = 40
"""Messages asked for ahead, for each connection to the mail server and each queue: those that wait here, are on their
way, and were sent but not yet settled."""
BATCH, GATHER = 64, 0.005
"""How many messages to let gather before the database is asked, and seconds to let them, while there is work."""
SOON = 0.05
"""Seconds between looks whether all is done, for a sender that is to stop then."""
SHUT = 0.2
"""Seconds between looks while nothing may be sent."""
AWAY = 2.0
"""Seconds without a broker before a sender that may do so turns to the database."""
FIRST_PAUSE, LAST_PAUSE = 0.05, 1.0


class Outage(StrEnum):
    """What a sender does while the broker is away."""

    WAIT = "wait"
    DIRECT = "direct"
    """Claims what is due straight from the database, as a worker does."""


class BrokerFeed:
    """Claims what messages name, into a worker's buffer."""

    def __init__(
        self,
        bench: Workbench,
        *,
        broker: Broker,
        prefetch: int | None = None,
        outage: Outage = Outage.WAIT,
        meter: DispatchMeter = UNMETERED_DISPATCH,
    ) -> None:
        self.stopping = asyncio.Event()
        self.link = Link(broker, self.stopping, meter)
        self._bench = bench
        self._outage = outage
        self._meter = meter
        self._prefetch = prefetch or PREFETCH * bench.transport.connections
        self._allowance = Allowance(bench.database, bench.transport)
        self._turn = 0
        self._pause = FIRST_PAUSE
        self._consumption: Consumption | None = None
        self._messages: dict[Claim, tuple[Consumption, int]] = {}
        """Which message brought a claim; it is acknowledged when the claim is held no longer."""
        bench.holdings.gone = self._acknowledge

    def stop(self) -> None:
        self.stopping.set()
        self._bench.wake_up.woken.set()
        self._bench.buffer.low.set()

    async def until_stopped(self) -> None:
        """Serve messages over one session after another."""
        while not self.stopping.is_set():
            session = await self._connected()
            if session is None:
                return
            self._consumption = consumption = Consumption(session, prefetch=self._prefetch, meter=self._meter)
            try:
                if await self._serve(consumption):
                    return
            except BrokerAway:
                continue  # the link says so, and tries again

    async def close(self) -> None:
        """Tell the broker of what was finished last, and say goodbye."""
        if self._consumption is not None:
            await self._consumption.flushed()
        await self.link.close()

    def state(self) -> str:
        """How the broker looks from here, as JSON, for the heartbeat."""
        return broker_state(self.link)

    # ---------------------------------------------------------------- the broker away

    async def _connected(self) -> Session | None:
        """The broker, waited for; meanwhile the database serves, if that is wanted."""
        connecting = asyncio.create_task(self.link.connect())
        if self._outage is Outage.DIRECT:
            await asyncio.wait([connecting], timeout=AWAY)
            if not connecting.done():
                await self._claim_directly(until=connecting)
        return await connecting

    async def _claim_directly(self, *, until: asyncio.Task[Session | None]) -> None:
        logger.warning("emails are claimed from the database until the broker is back", broker=self.link.name)
        claimer = Claimer(self._bench)
        until.add_done_callback(lambda _: claimer.stop())
        await claimer.until_stopped()
        if not until.done():  # all is done, and this sender was to stop then
            self.stop()

    # ---------------------------------------------------------------- the broker there

    async def _serve(self, consumption: Consumption) -> bool:
        """Claim what messages name. True when all is done; returns when stopped, or when the session is lost."""
        session = consumption.session
        while not self.stopping.is_set() and not session.closed.is_set():
            if not self._bench.gate.may_send():
                await self._sit_out(consumption)
                continue
            await consumption.start()
            if not consumption.arrived.is_set() and await self._all_done():
                await consumption.stop()
                return True
            await self._until_wanted(consumption)
            await self._claim(consumption)
        if not session.closed.is_set():
            await self._give_back(consumption)  # else the broker does: it delivers them to somebody else
        return False

    async def _until_wanted(self, consumption: Consumption) -> None:
        """Wait for messages, and for room."""
        buffer = self._bench.buffer
        buffer.mark = self._prefetch // 8
        if not consumption.arrived.is_set():
            awaited, seconds = consumption.arrived, SOON if self._bench.until_idle else 1.0
        elif len(buffer) > buffer.mark or not self._bench.ready():
            awaited, seconds = buffer.low, SOON
        elif len(buffer) and sum(consumption.waiting.values()) < BATCH:
            awaited, seconds = consumption.session.closed, GATHER
        else:
            return
        gone = consumption.session.closed
        await first_of(awaited.wait(), self.stopping.wait(), gone.wait(), seconds=seconds)

    async def _claim(self, consumption: Consumption) -> None:
        """Claim what messages in hand name, as much as there is room for, every lane its share."""
        bench = self._bench
        bench.buffer.low.clear()
        room = self._prefetch - len(bench.buffer)
        if not consumption.arrived.is_set() or room <= 0 or not bench.ready():
            return
        try:
            granted = await self._allowance.grant(min(room, sum(consumption.waiting.values())))
            taken = consumption.take(shares(granted, consumption.waiting, turn=self._turn))
            self._turn += len(taken)
            claimed = await self._take(consumption, taken)
            await self._allowance.give_back(granted - claimed)
            self._pause = FIRST_PAUSE
        except StoreUnavailable as error:
            logger.warning("claiming waits for the database", error=str(error))
            await bench.database.refresh()
            await asyncio.sleep(self._pause)
            self._pause = min(self._pause * 2, LAST_PAUSE)

    async def _take(self, consumption: Consumption, taken: Sequence[Delivery]) -> int:
        """Claim the emails of these messages; those of messages that came too late are left alone."""
        if not taken:
            return 0
        bench, asked = self._bench, time.monotonic()
        messages: dict[Named, Delivery] = {}
        for delivery in taken:
            messages.setdefault(delivery.named, delivery)
        try:
            whole = whole_up_to(len(bench.buffer) + len(messages))
            plan = dispatch.claim_queued(messages, worker=bench.worker, lease=bench.lease, whole=whole)
            emails = await bench.database.run(plan, atomic=False)
        except StoreUnavailable:
            consumption.put_back(taken)
            raise
        bench.meter.claimed(emails, time.monotonic() - asked)
        tags = {delivery.tag for delivery in taken}
        for email in emails:
            delivery = messages[_named(email)]
            self._messages[email.claim] = consumption, delivery.tag
            tags.discard(delivery.tag)
        self._drop_stale(consumption, [delivery for delivery in taken if delivery.tag in tags])
        if emails:
            reach("claimed")
            bench.holdings.add(emails, asked=asked)
            bench.buffer.add(emails)
        return len(emails)

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

    # ---------------------------------------------------------------- pauses

    async def _sit_out(self, consumption: Consumption) -> None:
        """Nothing may be sent: let the messages in hand go, and take no more until something may."""
        await self._give_back(consumption)
        await first_of(self.stopping.wait(), consumption.session.closed.wait(), seconds=SHUT)

    async def _give_back(self, consumption: Consumption) -> None:
        """Make the emails of messages in hand due again; a scheduler will name them anew."""
        await consumption.stop()
        held = consumption.take(consumption.waiting)
        if not held:
            return
        with suppress(StoreUnavailable):  # then their leases run out
            await self._bench.database.run(dispatch.unqueue([delivery.named for delivery in held]))
        for delivery in held:
            consumption.done(delivery.tag)

    async def _all_done(self) -> bool:
        if not self._bench.until_idle or not self._bench.idle():
            return False
        try:
            left = await self._bench.database.run(dispatch.awaiting(), writes=False, atomic=False)
        except StoreUnavailable:
            return False
        return not left.due and not left.queued


def broker_state(link: Link, depths: dict[str, int] | None = None) -> str:
    """The broker as a heartbeat tells of it. The queue of the dead is told apart: nobody waits for it to empty."""
    state: dict[str, object] = {
        "name": link.name,
        "connected": link.connected,
        "since": link.since.isoformat(),
        "reason": link.reason,
        "blocked": link.session.client.blocked if link.session is not None and link.connected else "",
    }
    if depths:
        dead = link.broker.dead
        state["depths"] = {queue: count for queue, count in depths.items() if queue != dead}
        state["dead"] = {dead: depths.get(dead, 0)}
    return json.dumps(state)


def _named(email: Claimed) -> Named:
    return Named(email.id, email.attempts + 1)

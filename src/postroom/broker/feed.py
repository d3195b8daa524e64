"""Brings a sender its emails: those that messages name, claimed under the same leases as any.

A message is acknowledged when its email no longer depends on it: settled, given back, or not queued for that attempt in
the first place. A sender that dies before that has its messages delivered to another, which takes them with care (see
`taking.py`), or finds them stale: the emails themselves are recovered as those of any dead worker.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from enum import StrEnum

from postroom.broker.consumption import Consumption
from postroom.broker.link import BrokerAway, Link, Session
from postroom.broker.meter import UNMETERED_DISPATCH, DispatchMeter
from postroom.broker.taking import Taker
from postroom.broker.topology import Broker
from postroom.claim.allowance import Allowance
from postroom.claim.due import Claimer, DueFeed
from postroom.claim.feed import Workbench, call_off, first_of
from postroom.claim.lanes import shares
from postroom.errors import StoreUnavailable
from postroom.logs import logger
from postroom.store import dispatch

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
        self.left_due = False
        self.link = Link(broker, self.stopping, meter)
        self._bench = bench
        self._outage = outage
        self._meter = meter
        self._prefetch = prefetch or PREFETCH * sum(way.route.transport.connections for way in bench.ways.values())
        self._allowances = {name: Allowance(bench.database, way.route) for name, way in bench.ways.items()}
        covering = [Claimer(bench, way, own=False) for way in bench.ways.values()]
        self._covering = [claimer for claimer in covering if claimer.covers_any]
        """Take the emails of routes in trouble straight from the database: nobody names those in messages."""
        self._turn = 0
        self._pause = FIRST_PAUSE
        self._consumption: Consumption | None = None
        self._taker = Taker(bench, meter, self._allowances if len(self._allowances) > 1 else {})

    def stop(self) -> None:
        self.stopping.set()
        self._bench.wake_up.ring()
        for way in self._bench.ways.values():
            way.buffer.low.set()
        for claimer in self._covering:
            claimer.stop()

    async def until_stopped(self) -> None:
        """Serve messages over one session after another."""
        covering = [asyncio.create_task(each.until_stopped(), name="cover") for each in self._covering]
        try:
            await self._serve_sessions()
        finally:
            await call_off(covering)

    async def _serve_sessions(self) -> None:
        while not self.stopping.is_set():
            session = await self._connected()
            if session is None:
                return
            self._consumption = consumption = Consumption(
                session, prefetch=self._prefetch, meter=self._meter, deployment=self._bench.deployment()
            )
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
        feed = DueFeed(self._bench)
        until.add_done_callback(lambda _: feed.stop())
        await feed.until_stopped()
        if not until.done():  # all is done, and this sender was to stop then
            self.left_due = feed.left_due
            self.stop()

    # ---------------------------------------------------------------- the broker there

    async def _serve(self, consumption: Consumption) -> bool:
        """Claim what messages name. True when all is done; returns when stopped, or when the session is lost."""
        session = consumption.session
        while not self.stopping.is_set() and not session.closed.is_set():
            if not self._bench.may_send():
                await self._sit_out(consumption)
                continue
            await consumption.start()
            if not consumption.arrived.is_set() and await self._all_done():
                await consumption.stop()
                return True
            await self._until_wanted(consumption)
            if not consumption.arrived.is_set():
                await consumption.insist()
            await self._claim(consumption)
        if not session.closed.is_set():
            await self._give_back(consumption)  # else the broker does: it delivers them to somebody else
        return False

    async def _until_wanted(self, consumption: Consumption) -> None:
        """Wait for messages, and for room."""
        in_hand, mark = self._bench.in_hand(), self._prefetch // 8
        low = self._mark_low(mark)
        if not consumption.arrived.is_set():
            waits, seconds = [consumption.arrived.wait()], SOON if self._bench.until_idle else 1.0
        elif in_hand > mark or not self._bench.ready():
            waits, seconds = [each.wait() for each in low], SOON
        elif in_hand and not consumption.came_back and sum(consumption.waiting.values()) < BATCH:
            waits, seconds = [], GATHER
        else:
            return
        await first_of(*waits, self.stopping.wait(), consumption.session.closed.wait(), seconds=seconds)

    def _mark_low(self, mark: int) -> list[asyncio.Event]:
        """When the buffers are low again, of which no more than so many emails are left."""
        for way in self._bench.ways.values():
            way.buffer.mark = mark
        return [way.buffer.low for way in self._bench.ways.values()]

    async def _claim(self, consumption: Consumption) -> None:
        """Claim what messages in hand name, as much as there is room for, every lane its share."""
        bench = self._bench
        for way in bench.ways.values():
            way.buffer.low.clear()
        if not consumption.arrived.is_set() or bench.in_hand() >= self._prefetch or not bench.ready():
            return
        try:
            await self._claim_one_that_came_back(consumption)
            await self._claim_many(consumption)
            self._pause = FIRST_PAUSE
        except StoreUnavailable as error:
            logger.warning("claiming waits for the database", error=str(error))
            await bench.database.refresh()
            await asyncio.sleep(self._pause)
            self._pause = min(self._pause * 2, LAST_PAUSE)

    async def _claim_one_that_came_back(self, consumption: Consumption) -> None:
        """One for every batch of the others, so that neither waits for the other."""
        if not consumption.came_back or not await self._grant(1):
            return
        claimed = await self._taker.take_with_care(consumption, consumption.take_one_that_came_back())
        await self._return(1 - claimed)

    async def _claim_many(self, consumption: Consumption) -> None:
        room = min(self._prefetch - self._bench.in_hand(), sum(consumption.waiting.values()))
        if room <= 0:
            return
        granted = await self._grant(room)
        taken = consumption.take(shares(granted, consumption.waiting, turn=self._turn))
        self._turn += len(taken)
        claimed = await self._taker.take(consumption, taken)
        await self._return(granted - claimed)

    # ---------------------------------------------------------------- rates

    async def _grant(self, wanted: int) -> int:
        """How many messages may be claimed now. A message does not tell its route: of several, the taker sees to it."""
        if len(self._allowances) > 1:
            return wanted
        [only] = self._allowances.values()
        return await only.grant(wanted)

    async def _return(self, unused: int) -> None:
        if len(self._allowances) == 1:
            [only] = self._allowances.values()
            await only.give_back(unused)

    # ---------------------------------------------------------------- pauses

    async def _sit_out(self, consumption: Consumption) -> None:
        """Nothing may be sent: let the messages in hand go, and take no more until something may."""
        await self._give_back(consumption)
        await first_of(self.stopping.wait(), consumption.session.closed.wait(), seconds=SHUT)

    async def _give_back(self, consumption: Consumption) -> None:
        """Make the emails of messages in hand due again; a scheduler will name them anew."""
        await consumption.stop()
        held = consumption.take_all()
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


def broker_state(link: Link, depths: dict[str, int] | None = None, *, refused: str = "") -> str:
    """The broker as a heartbeat tells of it. The queue of the dead is told apart: nobody waits for it to empty."""
    state: dict[str, object] = {
        "name": link.name,
        "connected": link.connected,
        "since": link.since.isoformat(),
        "reason": link.reason,
        "blocked": link.session.client.blocked if link.session is not None and link.connected else "",
        "refused": refused,
    }
    if depths:
        dead = link.broker.dead
        state["depths"] = {queue: count for queue, count in depths.items() if queue != dead}
        state["dead"] = {dead: depths.get(dead, 0)}
    return json.dumps(state)

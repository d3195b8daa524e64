"""Brings a worker what is due: a claimer for each route, so that no route's trouble holds up another's mail.

A claimer keeps its route's buffer filled with what the lines can use soon, within the route's rate, urgent things
first. While a route is in trouble, the claimer of its fallback takes its due emails too.
"""

from __future__ import annotations

import asyncio
import time
from datetime import datetime

from postroom.claim.allowance import Allowance
from postroom.claim.failpoint import reach
from postroom.claim.feed import WayOut, Workbench, call_off, first_of
from postroom.claim.lanes import Shares, shares
from postroom.claim.room import whole_up_to
from postroom.compose.late import is_late
from postroom.errors import StoreUnavailable
from postroom.logs import logger
from postroom.store import claims, questions
from postroom.vocabulary import LANES, Priority

LOOK_AGAIN = 0.01
"""Seconds between looks for urgent emails while the buffer is well filled."""
AHEAD = 0.2
"""Seconds' worth of emails to have claimed ahead."""
AHEAD_OF_WORDS = 1.0
"""The same while emails have to be rendered first, which takes a while for each batch."""
PACE = 0.05
"""Seconds over which the pace of the lines is taken."""
AT_ONCE = 0.005
"""Seconds to wait for what is due already, and was not to be had: another worker has it."""
SOON = 0.05
"""Seconds between looks whether all is done, for a worker that is to stop then, or whether more can be taken on."""
SHUT = 1.0
"""Seconds between looks while the route may not be used."""
FIRST_PAUSE, LAST_PAUSE = 0.05, 1.0


class DueFeed:
    """A claimer for each route that the worker serves."""

    def __init__(self, bench: Workbench) -> None:
        self.stopping = asyncio.Event()
        self.left_due = False
        self._bench = bench
        self._claimers = [Claimer(bench, way) for way in bench.ways.values()]

    async def until_stopped(self) -> None:
        """Claim until stopped, or until there is nothing left to do."""
        tasks = [asyncio.create_task(each.until_stopped(), name="claim") for each in self._claimers]
        if self._bench.until_idle:
            tasks.append(asyncio.create_task(self._until_idle(), name="until idle"))
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()  # a bug of ours, if anything
            self.stop()
            await asyncio.gather(*tasks)
        finally:
            await call_off(tasks)

    def stop(self) -> None:
        self.stopping.set()
        for claimer in self._claimers:
            claimer.stop()

    def state(self) -> None:
        """Emails come from the database."""

    async def close(self) -> None:
        """It holds nothing of its own."""

    # ---------------------------------------------------------------- until idle

    async def _until_idle(self) -> None:
        """Return when nothing is in hand and nothing is due that this worker could send."""
        pause = FIRST_PAUSE
        while not self.stopping.is_set():
            try:
                if await self._all_done():
                    return
                pause = FIRST_PAUSE
            except StoreUnavailable:
                pause = min(pause * 2, LAST_PAUSE)
            await first_of(self.stopping.wait(), seconds=pause)

    async def _all_done(self) -> bool:
        """What is claimed or settled while the database is asked may make the answer a wrong one: then ask again."""
        before = self._progress()
        if not self._idle():
            return False
        ways = self._bench.ways.values()
        plan = questions.something_due(
            [way.route.name for way in ways if way.gate.may_send()],
            covered=[way.route.name for way in ways if self._is_covered(way)],
        )
        due = await self._bench.database.run(plan, writes=False, atomic=False)
        if due or not self._idle() or self._progress() != before:
            return False
        self.left_due = await self._leaves_some()
        return True

    def _idle(self) -> bool:
        return self._bench.idle() and not any(claimer.claiming for claimer in self._claimers)

    def _progress(self) -> int:
        return sum(claimer.claims for claimer in self._claimers)

    def _is_covered(self, way: WayOut) -> bool:
        """Whether another route takes its emails now."""
        other = self._bench.ways.get(way.route.fallback or "")
        return way.gate.in_trouble and other is not None and other.gate.may_send()

    async def _leaves_some(self) -> bool:
        """Whether emails are due on a route that may not be used, or that is not known here."""
        ways, database = self._bench.ways, self._bench.database
        waiting: list[str] = await database.run(questions.waiting_routes(), writes=False, atomic=False)
        shut = [name for name in waiting if name not in ways or not ways[name].gate.may_send()]
        left = []
        for name in shut if not self._bench.only_these else ways.keys() & shut:
            if await database.run(questions.something_due([name]), writes=False, atomic=False):
                left.append(name)
                reason = ways[name].gate.reason if name in ways else "no route of this name is known here"
                logger.warning("stopping although emails are due", route=name, reason=reason)
        return bool(left)


class Claimer:
    """Claims the emails of one route into its buffer until stopped."""

    def __init__(self, bench: Workbench, way: WayOut, *, own: bool = True) -> None:
        """Without `own`, only those of other routes that fall back on it: its own come by another way."""
        self.own = own
        self.stopping = asyncio.Event()
        self.claiming = False
        """The database is being asked for emails."""
        self.claims = 0
        """How often it gave some."""
        self._bench = bench
        self._way = way
        self._database = bench.database
        self._buffer = way.buffer
        self._woken = bench.wake_up.bell(way.route.name)
        self._covers = [each for each in bench.ways.values() if each.route.fallback == way.route.name]
        """Routes whose emails leave here while they are in trouble."""
        self._looks_first = len(bench.ways) > 1 and not bench.wake_up.tells_route
        """Woken for every other route's emails too, it looks whether there is any before it claims."""
        self._allowance = Allowance(bench.database, way.route)
        self._turn = 0
        self._least = min(bench.most, 2 * way.route.transport.connections)
        self._target = self._least
        self._ahead = AHEAD
        self._paced = time.monotonic(), 0
        """When the pace was last taken, and how many emails had left the buffer by then."""

    async def until_stopped(self) -> None:
        """Claim, rest, claim. While the database is away, try again a little later each time."""
        pause = FIRST_PAUSE
        while not self.stopping.is_set():
            try:
                await self._until_wanted()
                claimed = await self._claim()
                pause = FIRST_PAUSE
                if not claimed:
                    await self._rest()
            except StoreUnavailable as error:
                logger.warning("claiming waits for the database", error=str(error))
                await self._database.refresh()
                await asyncio.sleep(pause)
                pause = min(pause * 2, LAST_PAUSE)

    def stop(self) -> None:
        self.stopping.set()
        self._woken.set()
        self._buffer.low.set()

    @property
    def covers_any(self) -> bool:
        """Some route falls back on this one."""
        return bool(self._covers)

    def _keep_pace(self) -> None:
        """Aim for what the lines use up in a moment: a fast server gets large batches, a slow one holds few leases."""
        now, (since, taken) = time.monotonic(), self._paced
        if now - since < PACE:
            return
        self._paced = now, self._buffer.taken
        pace = (self._buffer.taken - taken) / (now - since)
        self._target = min(self._bench.most, max(self._least, int(pace * self._ahead)))

    async def _until_wanted(self) -> None:
        """Leave a buffer alone that is more than half full, but for a look at what is urgent when we are woken."""
        self._keep_pace()
        self._buffer.mark = self._target // 2
        if len(self._buffer) > self._buffer.mark:
            await asyncio.sleep(LOOK_AGAIN)
            await first_of(self._buffer.low.wait(), self._woken.wait(), self.stopping.wait(), seconds=1.0)

    async def _claim(self) -> int:
        """Fill the buffer; how many emails were claimed."""
        self._woken.clear()
        self._buffer.low.clear()
        if not self._way.gate.may_send() or not self._bench.ready() or not (self.own or self._in_trouble()):
            return 0
        if self._looks_first and not await self._sees_any():
            return 0
        wanted = self._wanted()
        seats = sum(wanted.values())
        granted = await self._allowance.grant(seats)
        if not granted:
            return 0
        if granted < seats:
            wanted = shares(granted, wanted, turn=self._turn)
        self._turn += granted
        claimed = await self._take_from_all(wanted)
        await self._allowance.give_back(granted - claimed)
        return claimed

    async def _sees_any(self) -> bool:
        """A look costs little, and a claim takes turns with everybody who writes."""
        own = [self._way.route.name] if self.own else []
        plan = questions.something_due(own, covered=[way.route.name for way in self._in_trouble()])
        return await self._database.run(plan, writes=False, atomic=False)

    def _wanted(self) -> Shares:
        room = self._target - len(self._buffer)
        if len(self._buffer) > self._buffer.mark:
            # Well filled, it still takes what is urgent, within limits: that goes to the front.
            return {Priority.URGENT: max(self._way.route.transport.connections + min(room, 0), 0)}
        return shares(room, dict.fromkeys(LANES, room) | dict.fromkeys(self._closed(), 0), turn=self._turn)

    def _closed(self) -> list[Priority]:
        """Lanes with enough large emails waiting for room: more would only be kept from other workers."""
        return [lane for lane in LANES if self._buffer.aside(lane) >= self._least]

    def _in_trouble(self) -> list[WayOut]:
        """The routes that are covered just now."""
        return [way for way in self._covers if way.gate.in_trouble]

    async def _take_from_all(self, wanted: Shares) -> int:
        """Take this route's own emails, then, as far as there is room left, those of routes in trouble."""
        self.claiming = True
        try:
            claimed = await self._take(wanted) if self.own else 0
            for way in self._in_trouble():
                left = shares(sum(wanted.values()) - claimed, wanted, turn=self._turn)
                if not sum(left.values()):
                    break
                claimed += await self._take(left, instead_of=way)
            return claimed
        finally:
            self.claiming = False

    async def _take(self, wanted: Shares, *, instead_of: WayOut | None = None) -> int:
        asked, here = time.monotonic(), self._way.route.name
        plan = claims.claim(
            worker=self._bench.worker,
            lease=self._bench.lease,
            urgent=wanted.get(Priority.URGENT, 0),
            normal=wanted.get(Priority.NORMAL, 0),
            bulk=wanted.get(Priority.BULK, 0),
            closed=self._closed(),
            whole=whole_up_to(self._target * len(self._bench.ways)),
            route=here if instead_of is None else instead_of.route.name,
            onto=None if instead_of is None else here,
            reason="" if instead_of is None else instead_of.gate.reason,
        )
        emails = await self._database.run(self._bench.guard(plan), atomic=instead_of is not None)
        self._bench.meter.claimed(emails, time.monotonic() - asked)
        if not emails:
            return 0
        reach("claimed")
        self.claims += 1
        self._bench.holdings.add(emails, asked=asked)
        self._ahead = AHEAD_OF_WORDS if is_late(emails[-1].envelope) else AHEAD
        await self._bench.hand_over(emails, self._buffer.add)
        if instead_of is not None:
            logger.warning("emails leave by the fallback", emails=len(emails), route=instead_of.route.name, by=here)
        return len(emails)

    async def _rest(self) -> None:
        """Wait until there may be something to claim."""
        if len(self._buffer) > self._buffer.mark:
            return
        pause = await self._pause()
        await first_of(self._woken.wait(), self.stopping.wait(), seconds=pause)

    async def _pause(self) -> float:
        """Seconds to rest, unless woken. While nothing could be claimed, nobody need know when something is due."""
        if not self._way.gate.may_send():
            return SHUT
        if not self._bench.ready():
            return SOON
        ways = ([self._way] if self.own else []) + self._in_trouble()
        due = await _next_due(self._bench, [way.route.name for way in ways]) if ways else None
        return self._pause_until(due)

    def _pause_until(self, due: datetime | None) -> float:
        wait = self._bench.poll.total_seconds()
        if due is not None:
            wait = min(wait, max((due - self._bench.clock.now()).total_seconds(), AT_ONCE))
        if self._closed():
            wait = max(wait, SOON)  # what is due may be in one of them, and enough of that is here
        return wait


async def _next_due(bench: Workbench, routes: list[str]) -> datetime | None:
    return await bench.database.run(questions.next_due(routes), writes=False, atomic=False)

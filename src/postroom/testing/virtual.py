"""Weeks in seconds: a clock that stands still until it is moved, and real workers that send campaigns by it.

    clock = VirtualClock(datetime(2026, 3, 9, tzinfo=UTC))
    with Outbox.from_settings(settings, clock=clock) as outbox, VirtualWorkers(outbox, clock, 4) as workers:
        for now in workers.until(datetime(2026, 4, 9, tzinfo=UTC)):
            ...

Nothing is pretended but the time: the store, the feed of campaigns, the engine and the conversation with the mail
server are those of `postroom worker`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from random import Random
from typing import Self

from postroom.campaigns.books.mails import next_beat
from postroom.campaigns.sending.feed import CampaignFeed
from postroom.claim.clock import DatabaseClock
from postroom.claim.feed import Workbench, call_off
from postroom.errors import StoreUnavailable
from postroom.outbox import Outbox
from postroom.store.open import open_async_database
from postroom.testing.background import BackgroundLoop
from postroom.work.journal.last_words import remove_journal
from postroom.work.thread import worker_settings
from postroom.work.worker import Worker

GLANCE = 0.001
"""Seconds between two looks whether the workers are done; of the machine's own."""
STUCK = timedelta(minutes=1)
"""How far the clock goes on where something is due that cannot leave, as while the mail server is away."""


class VirtualClock:
    """The time of an outbox, `Outbox(url, clock=clock)`: it stands still, and goes forward when it is moved."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def move_to(self, instant: datetime) -> None:
        """It is that late; never earlier than it was."""
        self.now = max(self.now, instant)


class VirtualWorkers:
    """Workers that do, at each instant of a clock, all that can be done for campaigns then; a context manager.

    The clock is moved only while nothing is in hand but what a server keeps waiting (`Hold`), so whatever arrived since
    was sent at the instant it shows. Which of them sends a mail is up to them.
    """

    def __init__(
        self,
        outbox: Outbox,
        clock: VirtualClock,
        count: int,
        *,
        random: Random | None = None,
        kept: Callable[[], int] = lambda: 0,
    ) -> None:
        """`random` draws the gaps between mails; a seeded one draws the same again. `kept` tells how many emails a
        server keeps waiting.
        """
        self._outbox = outbox
        self._clock = clock
        self._random = random or Random()
        self._count = count
        self._kept = kept
        self._loop = BackgroundLoop("virtual-workers")
        self._working: list[_Working] = []
        self._leaving: list[_Working] = []
        """Those that were killed, and that the event loop has not done with yet."""

    def until(self, end: datetime) -> Iterator[datetime]:
        """Each instant before `end` that had something to be done at, when it is done; then the clock shows `end`."""
        while self._clock.now < end:
            self.settle()
            yield self._clock.now
            self._clock.move_to(min(end, self._next_instant() or end))

    def settle(self) -> None:
        """Return when nothing of campaigns is left to be done at this instant."""
        self._loop.run(self._settle())

    def in_hand(self, place: int) -> int:
        """How many emails the worker at this place holds; the first stands at 0."""
        return self._working[place].in_hand

    def restart(self, place: int) -> None:
        """End a worker in order, once it is done with what it has in hand; a new one takes its place."""
        self._loop.run(self._working[place].stop())
        self._loop.run(self._begin(place))

    def kill(self, place: int, *, journal_lost: bool = False) -> None:
        """End a worker in the middle of what it does, and have a new one take its place.

        As `kill -9` would: it writes nothing more, neither to the database nor to its journal, settles and gives back
        nothing, and its connections end. What it had in hand is found in its journal; with `journal_lost`, as where its
        machine is gone, only when its lease is over.
        """
        self._loop.run(self._kill(place, journal_lost))

    def __enter__(self) -> Self:
        self._loop.run(self._start())
        return self

    def __exit__(self, *exception: object) -> None:
        try:
            self._loop.run(self._stop())
        finally:
            self._loop.stop()

    def _next_instant(self) -> datetime | None:
        """When the next mail may leave; a little later where one may leave and cannot, or while one is kept waiting:
        then there are leases to be renewed."""
        now = self._clock.now
        due = self._outbox.database.run(next_beat(()), writes=False)
        if any(each.in_hand for each in self._working):
            soon = now + self._outbox.settings.lease / 3
            due = soon if due is None else min(due, soon)
        return due if due is None or due > now else now + STUCK

    async def _start(self) -> None:
        for place in range(self._count):
            await self._begin(place)

    async def _begin(self, place: int) -> None:
        self._working[place : place + 1] = [_Working(self._outbox, self._clock, self._random)]

    async def _settle(self) -> None:
        for each in self._working:
            await each.look_around()
        for each in self._working:
            each.wake()
        while not self._settled():
            for each in self._working:
                each.check()
            await asyncio.sleep(GLANCE)

    def _settled(self) -> bool:
        if not all(each.idle for each in self._working):
            return False
        return sum(each.in_hand for each in self._working) == self._kept()

    async def _kill(self, place: int, journal_lost: bool) -> None:
        await self._working[place].kill(journal_lost=journal_lost)
        self._leaving.append(self._working[place])
        await self._begin(place)

    async def _stop(self) -> None:
        await asyncio.gather(*(each.stop() for each in self._working))
        await asyncio.gather(*(each.ended() for each in self._leaving), return_exceptions=True)


class VirtualWorker(VirtualWorkers):
    """The same with one worker, which is done with everything before the clock is moved."""

    def __init__(self, outbox: Outbox, clock: VirtualClock, *, random: Random | None = None) -> None:
        """`random` draws the gaps between mails; a seeded one draws the same again."""
        super().__init__(outbox, clock, 1, random=random)


class _Working:
    """One worker at work, with a database of its own as a process has one."""

    def __init__(self, outbox: Outbox, clock: VirtualClock, random: Random) -> None:
        self._bench: Workbench
        self._feed: CampaignFeed
        self._rules = outbox.rules
        self._random = random
        self._database = open_async_database(
            outbox.database_url, tables=outbox.settings.tables, clock=clock, listeners=outbox.listeners
        )
        settings = worker_settings(outbox.settings)
        self._worker = Worker(
            self._database, outbox.routes(), settings, beside=self._feed_for, clock=DatabaseClock(clock)
        )
        self._task = asyncio.create_task(self._work())

    def _feed_for(self, bench: Workbench) -> CampaignFeed:
        self._bench = bench
        self._feed = CampaignFeed(bench, rules=self._rules, random=self._random)
        return self._feed

    async def _work(self) -> None:
        try:
            await self._worker.run()
        finally:
            await self._database.close()

    @property
    def in_hand(self) -> int:
        """Emails that it holds."""
        return len(self._worker.engine.held)

    @property
    def idle(self) -> bool:
        """It has nothing to do; what it holds waits for a server."""
        return self._feed.idle and self._bench.ready() and not self._worker.engine.settler.backlog

    async def look_around(self) -> None:
        """What its duties do now and then; while the database is away, nobody is to be troubled by that."""
        with suppress(StoreUnavailable):
            await self._worker.look_around()

    def wake(self) -> None:
        """Have it look what there is to do."""
        self._feed.idle = False
        self._bench.wake_up.ring()

    def check(self) -> None:
        """Raise what has ended it, if it has ended."""
        if self._task.done():
            self._task.result()
            raise RuntimeError("the worker has ended")

    async def stop(self) -> None:
        """Let it end in order."""
        self._worker.stop()
        await self._task

    async def kill(self, *, journal_lost: bool) -> None:
        """End what it does at once: first its hands are tied, and only then it hears of it."""
        engine = self._worker.engine
        await self._database.close()
        engine.journal.close()
        if journal_lost:
            remove_journal(engine.journal.folder, engine.name)
        await call_off(engine.lines)
        engine.settler.empty.set()  # what is left to record never will be, and nobody is to wait for that
        self._worker.stop()

    async def ended(self) -> None:
        """Wait until nothing is left of it."""
        await self._task

"""Weeks in seconds: a clock that stands still until it is moved, and a real worker that sends campaigns by it.

    clock = VirtualClock(datetime(2026, 3, 9, tzinfo=UTC))
    with Outbox.from_settings(settings, clock=clock) as outbox, VirtualWorker(outbox, clock) as worker:
        for now in worker.until(datetime(2026, 4, 9, tzinfo=UTC)):
            ...

Nothing is pretended but the time: the store, the feed of campaigns, the engine and the conversation with the mail
server are those of `postroom worker`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Self

from postroom.campaigns.books.mails import next_beat
from postroom.campaigns.sending.feed import CampaignFeed
from postroom.claim.feed import Workbench
from postroom.outbox import Outbox
from postroom.store.open import AsyncDatabase, open_async_database
from postroom.testing.background import BackgroundLoop
from postroom.work.minder import RouteMinder
from postroom.work.thread import worker_settings
from postroom.work.worker import Worker

GLANCE = 0.001
"""Seconds between two looks whether the worker is done; of the machine's own."""
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


class VirtualWorker:
    """A worker that does, at each instant of a clock, all that can be done for campaigns then; a context manager.

    The clock is moved only while nothing is in hand, so whatever arrived since was sent at the instant it shows.
    """

    def __init__(self, outbox: Outbox, clock: VirtualClock, *, random: Random | None = None) -> None:
        """`random` draws the gaps between mails; a seeded one draws the same again."""
        self._outbox = outbox
        self._clock = clock
        self._random = random or Random()
        self._loop = BackgroundLoop("virtual-worker")
        self._database: AsyncDatabase
        self._bench: Workbench
        self._feed: CampaignFeed
        self._working: asyncio.Task[None]

    def until(self, end: datetime) -> Iterator[datetime]:
        """Each instant before `end` that had something to be done at, when it is done; then the clock shows `end`."""
        while self._clock.now < end:
            self.settle()
            yield self._clock.now
            self._clock.move_to(min(end, self._next_instant() or end))

    def settle(self) -> None:
        """Return when nothing of campaigns is left to be done at this instant."""
        self._loop.run(self._settle())

    def __enter__(self) -> Self:
        self._loop.run(self._start())
        return self

    def __exit__(self, *exception: object) -> None:
        try:
            self._loop.run(self._stop())
        finally:
            self._loop.stop()

    def _next_instant(self) -> datetime | None:
        """When the next mail may leave; a little later where one may leave and cannot."""
        due = self._outbox.database.run(next_beat(()), writes=False)
        return due if due is None or due > self._clock.now else self._clock.now + STUCK

    async def _start(self) -> None:
        outbox = self._outbox
        self._database = open_async_database(
            outbox.database_url, tables=outbox.settings.tables, clock=self._clock, listeners=outbox.listeners
        )
        worker = Worker(self._database, outbox.routes(), worker_settings(outbox.settings), beside=self._feed_for)
        self._working = asyncio.create_task(self._work(worker))

    def _feed_for(self, bench: Workbench) -> CampaignFeed:
        self._bench = bench
        self._feed = CampaignFeed(bench, rules=self._outbox.rules, random=self._random)
        return self._feed

    async def _work(self, worker: Worker) -> None:
        self._worker = worker
        try:
            await worker.run()
        finally:
            await self._database.close()

    async def _settle(self) -> None:
        self._bench.clock.anchor(self._clock.now)
        for way in self._bench.ways.values():
            if isinstance(way.gate, RouteMinder):
                await way.gate.glance()  # whether a server that was away is back
        self._feed.idle = False
        self._bench.wake_up.ring()
        while not self._bench.idle():
            if self._working.done():
                self._working.result()
                raise RuntimeError("the worker has ended")
            await asyncio.sleep(GLANCE)

    async def _stop(self) -> None:
        self._worker.stop()
        await self._working

"""One bounded piece of a worker's work inside the web app, for hosts that have cron and no process that stays.

It is a worker like any other, with a lease, a journal and a look at whose database this is: it claims and sends what is
due, mail of campaigns included, and ends when nothing is left to do or its time is up. What is under way then may
finish, and the rest is given back. Where campaigns only keep a gap that ends within that time, it waits for it. It
lives in a thread with an event loop of its own, so that pages go on.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta

from postroom.campaigns.serving import campaign_feed
from postroom.claim.meter import TallyMeter
from postroom.events import listeners_of
from postroom.logs import speaking_region
from postroom.outbox import AsyncOutbox
from postroom.send.contract import Report
from postroom.settle.attempt import Outcome
from postroom.store.open import AsyncDatabase, open_async_database
from postroom.store.questions import due
from postroom.work.thread import worker_settings
from postroom.work.worker import Worker

LONGEST = timedelta(seconds=20)
"""For so long it begins anew."""
MOST = 1_000
"""After so many attempts it begins none; those on other lines finish."""
GRACE = timedelta(seconds=8)
"""Then what is under way is given up: 28 s, within the half minute that proxies commonly wait."""
ROLE = "cron"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """What one piece of work came to."""

    sent: int = 0
    failed: int = 0
    """Attempts that were not accepted, for whatever reason; what they left behind is tried again as its policy says."""
    left_due: int = 0
    """Emails that are due now: time was up, or their way out cannot be used."""


class Ticking:
    """At most one piece of work at a time."""

    def __init__(self, outbox: AsyncOutbox, *, longest: timedelta = LONGEST, most: int = MOST) -> None:
        self._outbox = outbox
        self._longest = longest
        self._most = most
        self._running = False

    async def tick(self) -> Tick | None:
        """Work for a while; None if that is being done already. It goes on to its end also if nobody waits any more."""
        if self._running:
            return None
        self._running = True
        work = asyncio.ensure_future(asyncio.to_thread(lambda: asyncio.run(self._work())))
        work.add_done_callback(self._ended)
        return await asyncio.shield(work)

    def _ended(self, work: asyncio.Future[Tick]) -> None:
        self._running = False
        if not work.cancelled():
            work.exception()  # whoever waited has heard of it

    async def _work(self) -> Tick:
        settings = self._outbox.settings
        speaking_region.set(settings.region)
        database = open_async_database(
            settings.database.get_secret_value(),
            tables=settings.tables,
            clock=self._outbox.clock,
            listeners=listeners_of(settings),
        )
        try:
            return await self._tick(database)
        finally:
            await database.close()

    async def _tick(self, database: AsyncDatabase) -> Tick:
        settings, meter = self._outbox.settings, _UpTo(self._most)
        worker = Worker(
            database,
            self._outbox.routes(always=True),
            worker_settings(settings, until_idle=True, grace=GRACE, role=ROLE),
            meter=meter,
            beside=campaign_feed(settings, patience=self._longest),
        )
        meter.enough = worker.stop
        alarm = asyncio.get_running_loop().call_later(self._longest.total_seconds(), worker.stop)
        try:
            await worker.run()
        finally:
            alarm.cancel()
        sent, failed = meter.tally()
        return Tick(sent=sent, failed=failed, left_due=await database.run(due(), writes=False))


class _UpTo(TallyMeter):
    """Counts, and says when it is enough."""

    __slots__ = ("_most", "enough")

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most
        self.enough = _nothing

    def attempted(self, route: str, outcome: Outcome, report: Report) -> None:
        super().attempted(route, outcome, report)
        self._look()

    def sent(self, route: str, report: Report) -> None:
        super().sent(route, report)
        self._look()

    def _look(self) -> None:
        if sum(self.tally()) >= self._most:
            self.enough()


def _nothing() -> None:
    """There is no worker yet."""

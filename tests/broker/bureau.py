"""An office that dispatches over a broker: schedulers and senders, in this process or as processes of their own."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from postroom.broker.feed import BrokerFeed, Outage
from postroom.broker.meter import DispatchMeter, Fate
from postroom.broker.scheduler import Scheduler, SchedulerSettings
from postroom.broker.topology import Broker
from postroom.claim.route import Route
from postroom.send.smtp.pool import SmtpTransport
from postroom.store.open import AsyncDatabase, open_async_database
from postroom.testing import ScriptedSmtp
from postroom.vocabulary import LANES, Priority
from postroom.work.worker import Worker, WorkerSettings
from tests.broker.hatch import Hatch
from tests.work.nursery import Nursery, WorkerProcess
from tests.work.office import LIMITS, PATIENCE, Office, wait_until


class Counting(DispatchMeter):
    """Adds up what a scheduler or a sender tells."""

    __slots__ = ("counts",)

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def published(self, fates: Sequence[Fate]) -> None:
        self.counts.update(fate.value for fate in fates)

    def requeued(self, emails: int) -> None:
        self.counts["requeued"] += emails

    def gave_up(self, emails: int) -> None:
        self.counts["gave_up"] += emails

    def stale(self, messages: int) -> None:
        self.counts["stale"] += messages

    def poison(self) -> None:
        self.counts["poison"] += 1

    def announced(self, emails: int) -> None:
        self.counts["announced"] += emails


class Bureau(Office):
    """An office with a broker."""

    def __init__(
        self,
        url: str,
        server: ScriptedSmtp,
        folder: Path,
        nursery: Nursery,
        broker: Broker,
        *,
        backup: ScriptedSmtp | None = None,
    ) -> None:
        super().__init__(url, server, folder, nursery, routes=("backup", "third"), backup=backup)
        self.broker = broker
        self.hatch = Hatch(broker.url)
        self.meter = Counting()

    @property
    def queues(self) -> list[str]:
        """Where messages about emails wait."""
        return [queue for lane in LANES for queue in self.broker.queues(lane)]

    @property
    def queue(self) -> str:
        """That of normal emails."""
        return self.broker.queue(Priority.NORMAL, 1)

    async def obituaries(self) -> list[dict[str, Any]]:
        """The news of the dead that has arrived, and what was put aside; gone from the queue afterwards."""
        return [json.loads(message.body) for message in await self.hatch.take(self.broker.dead)]

    # In this process

    @asynccontextmanager
    async def scheduling(self, *, broker: Broker | None = None, **settings: Any) -> AsyncIterator[Scheduler]:
        """A scheduler at work here, stopped in good order at the end."""
        database = open_async_database(self.url)
        known: dict[str, Any] = {"interval": timedelta(seconds=1)}
        scheduler = Scheduler(database, broker or self.broker, SchedulerSettings(**known | settings), meter=self.meter)
        async with _at_work(scheduler, database):
            yield scheduler

    @asynccontextmanager
    async def sending(
        self,
        *,
        broker: Broker | None = None,
        options: str = LIMITS,
        prefetch: int | None = None,
        outage: Outage = Outage.WAIT,
        routes: Sequence[Route] = (),
        **settings: Any,
    ) -> AsyncIterator[Worker]:
        """A sender at work here, over the bureau's server or by `routes`; stopped in good order at the end."""
        known: dict[str, Any] = {"journals": self.journals, "grace": timedelta(seconds=20), "role": "sender"}
        database = open_async_database(self.url)
        feed = partial(BrokerFeed, broker=broker or self.broker, prefetch=prefetch, outage=outage, meter=self.meter)
        ways = routes or [Route.over(SmtpTransport(f"{self.server.url}?{options}"))]
        sender = Worker(database, ways, WorkerSettings(**known | settings), feed=feed)
        async with _at_work(sender, database):
            yield sender

    # As processes

    def start_scheduler(self, *arguments: str, **environment: str) -> WorkerProcess:
        """`postroom scheduler`; `POSTROOM_FAILPOINT="published:1"` and the like as keywords."""
        return self.start("scheduler", *arguments, environment=self._brokered() | environment)

    def start_sender(
        self,
        *arguments: str,
        options: str = LIMITS,
        lease: str = "1s",
        journals: Path | None = None,
        **environment: str,
    ) -> WorkerProcess:
        """`postroom sender`."""
        settings = self.environment(options=options, lease=lease, journals=journals) | self._brokered()
        return self.start("sender", *arguments, environment=settings | environment)

    def _brokered(self) -> dict[str, str]:
        return {
            "POSTROOM_DATABASE": self.url,
            "POSTROOM_BROKER": self.broker.url,
            "POSTROOM_SEND_QUEUE": self.broker.send,
            "POSTROOM_RETRY_QUEUE": self.broker.retry or "",
            "POSTROOM_DEAD_QUEUE": self.broker.dead,
            "POSTROOM_DISPATCH_LEASE": "1s",
            "POSTROOM_DISPATCH_INTERVAL": "1s",
            "POSTROOM_CONFIRM_LIMIT": "2s",
        }

    def dispatch(self, *, schedulers: int = 1, senders: int = 1, patience: float = PATIENCE, **settings: Any) -> None:
        """Start healthy schedulers and senders and let them work until nothing is left to do."""
        running = [self.start_scheduler() for _ in range(schedulers)]
        running += [self.start_sender(**settings) for _ in range(senders)]
        wait_until(lambda: not self.unfinished(), patience=patience)
        self.dismiss(running)


@asynccontextmanager
async def _at_work(service: Scheduler | Worker, database: AsyncDatabase) -> AsyncIterator[None]:
    running = asyncio.create_task(service.run())
    try:
        yield
    finally:
        service.stop()
        await asyncio.wait_for(running, PATIENCE)
        await database.close()

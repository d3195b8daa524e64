"""What a service that sends says of itself: what it is, how it goes now and then, and how it ended.

Each is an event of the log like any other, so a person at a terminal reads lines and a program objects. How many emails
wait is asked for on a terminal only: there somebody looks, and elsewhere metrics tell it without counting every minute.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from postroom.claim.feed import call_off
from postroom.claim.meter import Meter, Tally
from postroom.claim.route import Route
from postroom.cli.secrets import masked_url
from postroom.config import Settings
from postroom.errors import StoreUnavailable
from postroom.logs import logger
from postroom.store import questions
from postroom.store.open import AsyncDatabase
from postroom.work.worker import VERSION

ON_A_TERMINAL, ELSEWHERE = 10.0, 60.0
"""Seconds between two lines."""


@dataclass(kw_only=True)
class Telling:
    """Tells of one service while it runs."""

    role: str
    settings: Settings
    routes: Sequence[Route]
    meter: Meter
    interval: float = field(default_factory=lambda: ON_A_TERMINAL if sys.stderr.isatty() else ELSEWHERE)
    counts_waiting: bool = field(default_factory=sys.stderr.isatty)

    @asynccontextmanager
    async def during(self, database: AsyncDatabase) -> AsyncIterator[None]:
        """Say that it has begun, how it goes, and that it has ended."""
        began = time.monotonic()
        self._tell_start()
        reporting = asyncio.create_task(self._report(database), name="telling")
        try:
            yield
        finally:
            await call_off([reporting])
            tally = self.meter.tally()
            logger.info(
                f"{self.role} stopped", sent=tally.sent, failed=tally.failed, seconds=round(time.monotonic() - began, 1)
            )

    def _tell_start(self) -> None:
        logger.info(
            f"{self.role} started",
            version=VERSION,
            database=masked_url(self.settings.database.get_secret_value()),
            routes=[
                f"{route.name}: {route.server}, {route.transport.connections} connections"
                for route in self.routes
                if not route.unasked
            ],
        )

    async def _report(self, database: AsyncDatabase) -> None:
        before = Tally()
        while True:
            await asyncio.sleep(self.interval)
            tally, waiting = self.meter.tally(), await self._waiting(database)
            if tally != before or waiting:
                told = {} if waiting is None else {"waiting": waiting}
                rate = round((tally.sent - before.sent) / self.interval, 1)
                logger.info("at work", sent=tally.sent, failed=tally.failed, **told, per_second=rate)
            before = tally

    async def _waiting(self, database: AsyncDatabase) -> int | None:
        """How many emails are due; None where nobody looks, or the database is away."""
        if self.counts_waiting:
            with suppress(StoreUnavailable):
                return await database.run(questions.due(), writes=False, atomic=False)
        return None

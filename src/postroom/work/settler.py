"""Commits what attempts came to, in groups: as many as have gathered while the previous commit was under way.

Each email is settled on its own merits; only the commit is shared. While the database is away the outcomes wait here
and in the journal, and nothing new is claimed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from postroom.claim.failpoint import reach
from postroom.claim.meter import UNMETERED, Meter
from postroom.errors import StoreUnavailable
from postroom.logs import logger
from postroom.store import claims
from postroom.store.contract import Claim, Settlement
from postroom.store.open import AsyncDatabase
from postroom.vocabulary import EmailId
from postroom.work.journal import Journal

GROUP = 500
GATHER = 0.02
"""Seconds to let outcomes gather while plenty are coming: fewer commits, the same durability."""
FIRST_PAUSE, LAST_PAUSE = 0.05, 2.0


class Settler:
    """Holds outcomes until the database has them."""

    def __init__(
        self, database: AsyncDatabase, journal: Journal, *, keep_sent: bool, settled: Callable[[Claim], None]
    ) -> None:
        self._database = database
        self._journal = journal
        self._keep_sent = keep_sent
        self._settled = settled
        self.meter: Meter = UNMETERED
        self._waiting: list[Settlement] = []
        self._arrived = asyncio.Event()
        self._under_way = 0
        self.empty = asyncio.Event()
        self.empty.set()
        self.busy: Callable[[], bool] = lambda: False
        """Whether more outcomes are on their way."""

    @property
    def backlog(self) -> int:
        """Outcomes that the database does not have yet."""
        return len(self._waiting) + self._under_way

    def add(self, settlement: Settlement) -> None:
        """Take an outcome on."""
        self._waiting.append(settlement)
        self.empty.clear()
        self._arrived.set()

    async def run(self) -> None:
        """Commit outcomes until cancelled."""
        while True:
            await self._arrived.wait()
            if self.busy():
                await asyncio.sleep(GATHER)
            group, self._waiting = self._waiting[:GROUP], self._waiting[GROUP:]
            self._under_way = len(group)
            await self._commit(group)
            self._under_way = 0
            if not self._waiting:
                self._arrived.clear()
                self.empty.set()

    async def _commit(self, group: list[Settlement]) -> None:
        ours = await self._persist(group)
        for settlement in group:
            self._journal.forget(settlement.claim)
            self._settled(settlement.claim)
            if settlement.claim.id not in ours:
                logger.warning("settled too late", email_id=settlement.claim.id, status=settlement.status.value)

    def _is_more_than_a_settle(self, group: list[Settlement]) -> bool:
        """Whether it takes more than one statement, to be held together by a transaction."""
        listened = bool(self._database.listeners)
        return listened or not self._keep_sent or any(settlement.order or settlement.sensitive for settlement in group)

    async def _persist(self, group: list[Settlement]) -> set[EmailId]:
        """Have the database record a group, however long it takes to come back; those that were ours to settle."""
        pause = FIRST_PAUSE
        while True:
            try:
                reach("before_settle")
                asked = time.monotonic()
                plan = claims.settle(group, keep_sent=self._keep_sent)
                ours = await self._database.run(plan, atomic=self._is_more_than_a_settle(group))
                self.meter.settled(len(ours), time.monotonic() - asked)
                reach("after_settle")
                return ours
            except StoreUnavailable as error:
                logger.warning("settling waits for the database", emails=len(group), error=str(error))
            await asyncio.sleep(pause)
            pause = min(pause * 2, LAST_PAUSE)
            await self._database.refresh()

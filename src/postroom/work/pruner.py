"""Old data leaves by itself: a worker removes what is past retention, a little at a time.

Between two batches it rests for several times as long as the batch took, so that whatever the backlog, most of the
database's time is left to sending. Workers skip rows that another one is removing; one that is killed in the middle has
removed whole emails and nothing else.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from postroom.logs import logger
from postroom.store.housekeeping import Keep, prune_batch, sweep
from postroom.store.open import AsyncDatabase
from postroom.store.plan import Plan
from postroom.vocabulary import Status

BATCH = 200
"""Emails per transaction: little enough that nobody who sends notices one."""
REST = 4.0
"""How many times as long as a batch took to rest before the next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruning:
    """What a worker removes without being asked."""

    statuses: tuple[Status, ...]
    """Finished emails of these statuses."""
    keep: Keep
    """Once they have been kept for so long."""


class Pruner:
    """Goes through what is past its keep, whenever it is told to."""

    def __init__(self, database: AsyncDatabase, pruning: Pruning, *, now: Callable[[], datetime]) -> None:
        self._database = database
        self._pruning = pruning
        self._now = now

    async def run(self) -> None:
        """Remove all that is past retention now, and what it leaves behind."""
        ends, statuses = self._pruning.keep.ends(self._now()), self._pruning.statuses
        removed = await self._go_through(lambda: prune_batch(before=ends["before"], statuses=statuses, limit=BATCH))
        await self._go_through(lambda: sweep(**ends, limit=BATCH))
        if removed:
            logger.info("emails past retention were removed", emails=removed)

    async def _go_through(self, batch: Callable[[], Plan[int]]) -> int:
        gone = 0
        while True:
            began = time.monotonic()
            went = await self._database.run(batch())
            gone += went
            if went < BATCH:
                return gone
            await asyncio.sleep(REST * (time.monotonic() - began))

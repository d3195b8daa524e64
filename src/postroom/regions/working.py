"""Workers inside an application: one for each outbox, started with it and stopped with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager

from postroom.campaigns.serving import campaign_feed
from postroom.duration import Duration
from postroom.errors import ConfigurationError, PostroomError
from postroom.logs import logger
from postroom.outbox import AsyncOutbox, Outbox
from postroom.regions.awaiting import AsyncRegions
from postroom.regions.blocking import Regions
from postroom.work.thread import WorkerThread

AnyOutbox = Outbox | AsyncOutbox
PATIENCE = 2.0
"""Seconds that an application waits for a database to say whether its worker may send."""
Outboxes = AnyOutbox | Regions | AsyncRegions | Iterable[AnyOutbox]
"""One outbox, several, or those of all regions."""


@asynccontextmanager
async def workers_of(outboxes: Outboxes, *, grace: Duration = "30s") -> AsyncIterator[list[WorkerThread]]:
    """A worker for each outbox, in a thread of its own, for as long as the block lasts.

    At the end none of them claims anything more; what is under way may finish within `grace`, the rest goes back to
    `pending`. Outboxes whose worker is not enabled (`EMAIL_WORKER_ENABLED`) have none. A database that is away is
    waited for. What keeps one from working for good is logged, and raised only where it leaves nobody at work.
    """
    threads = [WorkerThread(outbox, grace=grace, beside=campaign_feed) for outbox in _enabled(outboxes)]
    starting = (asyncio.to_thread(thread.start, patience=PATIENCE) for thread in threads)
    started = await asyncio.gather(*starting, return_exceptions=True)
    at_work = [thread for thread in started if isinstance(thread, WorkerThread)]
    failures = [failure for failure in started if isinstance(failure, BaseException)]
    try:
        for failure in failures:
            if not at_work or not isinstance(failure, PostroomError):
                raise failure
            logger.error("worker not started", reason=str(failure))
        yield at_work
    finally:
        await asyncio.to_thread(_stop, at_work)


def _stop(threads: list[WorkerThread]) -> None:
    """All are told before one is waited for."""
    for thread in threads:
        thread.begin_to_stop()
    for thread in threads:
        thread.stop()


def _enabled(outboxes: Outboxes) -> Iterator[AnyOutbox]:
    for outbox in _each(outboxes):
        if outbox.settings.worker_enabled:
            yield outbox
        else:
            logger.info("worker not enabled", region=outbox.settings.region or None)


def _each(outboxes: Outboxes) -> Iterator[AnyOutbox]:
    if isinstance(outboxes, Outbox | AsyncOutbox):
        yield outboxes
    elif isinstance(outboxes, Regions | AsyncRegions):
        for name in outboxes:
            try:
                yield outboxes[name]
            except ConfigurationError as error:  # a machine of one region need not know the others' databases
                logger.warning("region left out", region=name, reason=str(error))
    else:
        yield from outboxes

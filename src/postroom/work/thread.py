"""A worker inside another process: in a thread with an event loop of its own.

    with WorkerThread(outbox):
        ...

For a small application that wants no second process, for tests and for demonstrations. Several may run at once, here
and elsewhere: they share the work as any workers do.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol, Self

from postroom.claim.feed import Workbench
from postroom.claim.route import Route
from postroom.config import Settings
from postroom.duration import Duration, parse_duration
from postroom.errors import StoreUnavailable
from postroom.events import listeners_of
from postroom.logs import speaking_region
from postroom.store.dialect import Clock
from postroom.store.housekeeping import Keep
from postroom.store.open import AsyncDatabase, open_async_database
from postroom.vocabulary import Status
from postroom.work.beside import Beside
from postroom.work.journal import journal_folder
from postroom.work.pruner import Pruning
from postroom.work.rendering import renderer
from postroom.work.routes import routes_of
from postroom.work.worker import MOST_BUFFERED, Worker, WorkerSettings


def worker_settings(
    settings: Settings,
    *,
    until_idle: bool = False,
    only_these: bool = False,
    grace: Duration = "30s",
    role: str = "worker",
) -> WorkerSettings:
    """How a worker works under these settings."""
    url = settings.database.get_secret_value()
    return WorkerSettings(
        lease=settings.lease,
        grace=parse_duration(grace),
        keep_sent=bool(settings.retention),
        deployment=settings.deployment,
        until_idle=until_idle,
        only_these=only_these,
        buffer=min(MOST_BUFFERED, settings.worker_batch_size or MOST_BUFFERED),
        poll=settings.worker_poll_interval or WorkerSettings().poll,
        undo=settings.undo,
        pruning=_pruning(settings),
        journals=settings.journal or journal_folder(url, settings.tables),
        role=role,
        keyring=settings.keyring(),
        render=renderer(settings.portals),
        limits=settings.limits(),
        suppressions=settings.suppression_rules(),
    )


def _pruning(settings: Settings) -> Pruning | None:
    statuses = tuple(map(Status, settings.pruned()))
    keep = Keep(emails=settings.retention, keys=settings.key_retention, undo=settings.undo)
    return Pruning(statuses=statuses, keep=keep) if statuses else None


class Served(Protocol):
    """What a worker has to know of an outbox: an `Outbox` or an `AsyncOutbox`."""

    settings: Settings
    clock: Clock | None

    def routes(self, *, always: bool = False) -> list[Route]:
        """Its ways out, made for whoever calls; with `always`, those that need no settings too."""


class WorkerThread:
    """Works from `start` to `stop`; stopping lets what is under way finish and gives the rest back."""

    def __init__(
        self,
        outbox: Served | Settings,
        *,
        grace: Duration = "30s",
        beside: Callable[[Settings], Callable[[Workbench], Beside]] | None = None,
    ) -> None:
        """Given an outbox, it sends by the ways out of that outbox, `Outbox(transport=…)` included.

        `beside` makes of the settings what brings emails by other rules: `campaign_feed`, those of campaigns.
        """
        self._settings = outbox if isinstance(outbox, Settings) else outbox.settings
        self._clock = None if isinstance(outbox, Settings) else outbox.clock
        self._routes = _routes_for(outbox)
        self._routes()  # what is wrong with them is told here, and not in a thread
        self._grace = grace
        self._beside = beside
        self._made = threading.Event()
        """There is a worker, or there will be none."""
        self._ready = threading.Event()
        """It is known whether it may send."""
        name = f"postroom-worker-{self._settings.region}" if self._settings.region else "postroom-worker"
        self._thread = threading.Thread(target=lambda: asyncio.run(self._work()), name=name, daemon=True)
        self._failure: BaseException | None = None

    def start(self, *, patience: float | None = None) -> Self:
        """Returns when it is known whether it may send; or, where the database does not say, after so many seconds: it
        goes on asking by itself."""
        self._thread.start()
        self._made.wait()
        self._ready.wait(patience)
        if self._failure is not None:
            raise self._failure
        return self

    def stop(self) -> None:
        self.begin_to_stop()
        self._thread.join()

    def begin_to_stop(self) -> None:
        """No new claims from now on; `stop` waits for what is under way."""
        if self._thread.is_alive():
            with suppress(RuntimeError):  # its loop is closed: it has just ended by itself
                self._loop.call_soon_threadsafe(self._worker.stop)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *details: object) -> None:
        self.stop()

    async def _work(self) -> None:
        self._loop = asyncio.get_running_loop()
        settings = self._settings
        speaking_region.set(settings.region)
        database = open_async_database(
            settings.database.get_secret_value(),
            tables=settings.tables,
            clock=self._clock,
            listeners=listeners_of(settings),
        )
        try:
            await self._begin(database)
            if self._failure is None:
                await self._worker.run()
        finally:
            await database.close()

    async def _begin(self, database: AsyncDatabase) -> None:
        """Have a worker at hand, and know whether it may send; what keeps it from working is told by `start`."""
        try:
            self._worker = Worker(
                database,
                self._routes(),
                worker_settings(self._settings, grace=self._grace),
                beside=self._beside(self._settings) if self._beside else None,
            )
            self._made.set()
            ownership = self._worker.engine.ownership
            with suppress(StoreUnavailable):  # the worker waits for it
                await ownership.look()
            if ownership.refusal is not None:
                await self._worker.engine.close()
            self._failure = ownership.refusal
        except BaseException as error:
            self._failure = error
            raise
        finally:
            self._made.set()
            self._ready.set()


def _routes_for(outbox: Served | Settings) -> Callable[[], list[Route]]:
    """How the ways out are made, in the thread that is to use them."""
    if isinstance(outbox, Settings):
        return lambda: routes_of(outbox, always=True)
    return lambda: outbox.routes(always=True)

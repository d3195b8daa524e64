"""A worker inside another process: in a thread with an event loop of its own.

    with WorkerThread(outbox.settings):
        ...

For a small application that wants no second process, and for demonstrations. Several may run at once, here and
elsewhere: they share the work as any workers do.
"""

from __future__ import annotations

import asyncio
import threading
from typing import Self

from postroom.config import Settings
from postroom.duration import Duration, parse_duration
from postroom.events import listeners_of
from postroom.store.open import open_async_database
from postroom.work.journal import journal_folder
from postroom.work.routes import routes_of
from postroom.work.worker import MOST_BUFFERED, Worker, WorkerSettings


def worker_settings(
    settings: Settings, *, until_idle: bool = False, grace: Duration = "30s", role: str = "worker"
) -> WorkerSettings:
    """How a worker works under these settings."""
    url = settings.database.get_secret_value()
    return WorkerSettings(
        lease=settings.lease,
        grace=parse_duration(grace),
        keep_sent=bool(settings.retention),
        until_idle=until_idle,
        buffer=min(MOST_BUFFERED, settings.worker_batch_size or MOST_BUFFERED),
        poll=settings.worker_poll_interval or WorkerSettings().poll,
        journals=settings.journal or journal_folder(url, settings.tables),
        role=role,
    )


class WorkerThread:
    """Works from `start` to `stop`; stopping lets what is under way finish and gives the rest back."""

    def __init__(self, settings: Settings, *, grace: Duration = "30s") -> None:
        self._settings = settings
        routes_of(settings)  # what is wrong with them is told here, and not in a thread
        self._grace = grace
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._work()), name="postroom-worker", daemon=True)
        self._failure: BaseException | None = None

    def start(self) -> Self:
        self._thread.start()
        self._ready.wait()
        if self._failure is not None:
            raise self._failure
        return self

    def stop(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._worker.stop)
        self._thread.join()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *details: object) -> None:
        self.stop()

    async def _work(self) -> None:
        self._loop = asyncio.get_running_loop()
        settings = self._settings
        database = open_async_database(
            settings.database.get_secret_value(), tables=settings.tables, listeners=listeners_of(settings)
        )
        try:
            self._worker = Worker(
                database, routes_of(self._settings), worker_settings(self._settings, grace=self._grace)
            )
        except BaseException as error:
            self._failure = error
            raise
        finally:
            self._ready.set()
        try:
            await self._worker.run()
        finally:
            await database.close()

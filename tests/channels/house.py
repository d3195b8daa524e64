"""An outbox with routes for every channel, and a worker that serves them until nothing is due."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from postroom import Outbox, config
from postroom.store.open import open_async_database
from postroom.work.breakers import resume
from postroom.work.routes import routes_of
from postroom.work.thread import worker_settings
from postroom.work.worker import Worker


class House:
    """An outbox on one database, and whoever sends for it."""

    def __init__(self, url: str, folder: Path, **settings: Any) -> None:
        self.settings = config.load(database=url, journal=folder / "journals", **settings)
        self.outbox = Outbox.from_settings(self.settings)
        self.outbox.migrate()

    async def work(self) -> None:
        """Send what is due."""
        database = open_async_database(self.settings.database.get_secret_value(), tables=self.settings.tables)
        try:
            settings = worker_settings(self.settings, until_idle=True, grace="5s")
            await Worker(database, routes_of(self.settings), settings).run()
        finally:
            await database.close()

    async def open_routes_and_work(self) -> None:
        """The same, after somebody has put right what had stopped a route."""
        for name in self.settings.all_routes():
            self.outbox.database.run(resume(name))
        await self.work()

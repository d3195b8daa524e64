"""How an idle worker hears that there is something to do, before its patience runs out.

On PostgreSQL a commit that enqueues says NOTIFY with the route, and a connection that LISTENs hears it. Where that
connection cannot be had, or would hear nothing (PgBouncer in transaction mode), polling does the work, only later. On
SQLite a worker looks at the file's change counter, which costs a few microseconds and no lock.
"""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import suppress

from postroom.logs import logger
from postroom.store.open import AsyncDatabase
from postroom.store.postgres.awaiting import AsyncPostgresDatabase
from postroom.store.sqlite.awaiting import AsyncSqliteDatabase
from postroom.store.sqlite.connection import connect

LISTEN_AGAIN = 1.0
"""Seconds before a lost LISTEN is set up anew."""

FIRST_LOOK, LAST_LOOK = 0.002, 0.020
"""Seconds between looks at an SQLite file: soon after work, a little later when it has been quiet."""


class WakeUp:
    """Rings bells whenever there may be new work. May be spurious, may be late; polling covers the rest."""

    tells_route = False
    """Whether a bell for a route rings for that route only."""

    def __init__(self) -> None:
        self._bells: dict[str, list[asyncio.Event]] = {}

    def bell(self, route: str = "") -> asyncio.Event:
        """A bell of one's own, set when there may be something for this route; without a name, for any."""
        bell = asyncio.Event()
        self._bells.setdefault(route, []).append(bell)
        return bell

    def ring(self, route: str = "") -> None:
        """There may be something for this route; without a name, or with one that nobody here goes by, for any."""
        names = (route, "") if route in self._bells else tuple(self._bells)
        for name in names:
            for bell in self._bells.get(name, ()):
                bell.set()

    async def run(self) -> None:
        """Listen until cancelled."""
        await asyncio.Event().wait()


def wake_up_for(database: AsyncDatabase) -> WakeUp:
    """The way to be woken by this database."""
    match database:
        case AsyncSqliteDatabase():
            return FileWatch(database)
        case AsyncPostgresDatabase(pooled=True):
            return Deaf()
        case AsyncPostgresDatabase():
            return Listen(database)


class Deaf(WakeUp):
    """Hears nothing: behind a pooler a session that listens is somebody else's a moment later."""


class Listen(WakeUp):
    """LISTEN on a connection of its own."""

    tells_route = True

    def __init__(self, database: AsyncPostgresDatabase) -> None:
        super().__init__()
        self._database = database

    async def run(self) -> None:
        """Listen until cancelled; a lost connection is set up anew, and counts as a wake-up."""
        import psycopg

        while True:
            with suppress(psycopg.Error, OSError):
                await self._listen()
            logger.debug("listening again", channel="postroom")
            self.ring()
            await asyncio.sleep(LISTEN_AGAIN)

    async def _listen(self) -> None:
        import psycopg

        connection = await psycopg.AsyncConnection.connect(self._database.url, autocommit=True)
        async with connection:
            await connection.execute("LISTEN postroom")
            self.ring()  # something may have come in before we listened
            async for notice in connection.notifies():
                self.ring(notice.payload)


class FileWatch(WakeUp):
    """Looks at `PRAGMA data_version`, which changes when another connection has committed."""

    def __init__(self, database: AsyncSqliteDatabase) -> None:
        super().__init__()
        self._path = database.path

    async def run(self) -> None:
        """Look until cancelled."""
        connection = connect(self._path, patience=5)
        try:
            seen, pause = self._version(connection), FIRST_LOOK
            while True:
                await asyncio.sleep(pause)
                version = self._version(connection)
                changed, seen = version != seen, version
                pause = FIRST_LOOK if changed else min(pause * 1.2, LAST_LOOK)
                if changed:
                    self.ring()
        finally:
            connection.close()

    @staticmethod
    def _version(connection: sqlite3.Connection) -> int:
        with suppress(sqlite3.OperationalError):  # busy: look again
            version: int = connection.execute("PRAGMA data_version").fetchone()[0]
            return version
        return -1

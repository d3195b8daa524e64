"""SQLite for event loops: what is asked is done in a thread, so that the loop never waits for a disk."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from typing import Any, TypeVar

from postroom.errors import StoreUnavailable
from postroom.fork import tell_after_fork
from postroom.store.plan import Plan
from postroom.store.sqlite.connection import Connection
from postroom.store.sqlite.database import SqliteDatabase
from postroom.store.sqlite.thread import WorkThread

T = TypeVar("T")


class AsyncSqliteDatabase:
    """The same for event loops: plans run whole, in a thread of their own, so that the loop never waits for a disk."""

    copies = True

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database
        self.path = database.path
        self.dialect = database.dialect
        self.schema = database.schema
        self.listeners = database.listeners
        self.outages = 0
        """How often `run` found the database out of reach."""
        self._thread = WorkThread("postroom-sqlite")
        tell_after_fork(self)

    async def run(self, plan: Plan[T], *, writes: bool = True, atomic: bool = True) -> T:
        """Carry a plan out in a transaction of its own; or, not `atomic`, each step in its own.

        Once it has been asked for it is carried out, also if nobody waits for it any more.
        """
        try:
            return await self._thread.run(lambda: self._database.run(plan, writes=writes, atomic=atomic))
        except StoreUnavailable:
            self.outages += 1
            raise

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncSqliteConnection]:
        """A transaction with a thread and a connection to itself, so that nothing else of ours falls into it."""
        thread, held = WorkThread("postroom-sqlite-transaction"), ExitStack()
        try:
            connection = await thread.run(lambda: held.enter_context(self._database.transaction()))
            yield AsyncSqliteConnection(self._database, connection, thread)
        except BaseException as error:
            # Also when the wait for it was cancelled: by the time this is done, it has begun.
            await thread.run(partial(held.__exit__, type(error), error, error.__traceback__))
            raise
        else:
            await thread.run(held.close)
        finally:
            thread.close()

    async def refresh(self) -> None:
        """Nothing to do: a file does not go away and come back."""

    async def close(self) -> None:
        """What was asked for before is carried out first."""
        if not self._thread.closed:
            await self._thread.run(self._database.close)
            self._thread.close()

    def forget_parent(self) -> None:
        """A thread of this process's own."""
        self._thread = WorkThread("postroom-sqlite")


class AsyncSqliteConnection:
    """What `AsyncOutbox.transaction()` gives on SQLite: `await connection.execute(sql, parameters)`."""

    dialect_name = "sqlite"
    is_async = True
    copies = True

    def __init__(self, database: SqliteDatabase, connection: Connection, thread: WorkThread) -> None:
        self._database = database
        self._connection = connection
        self._thread = thread

    async def execute(self, sql: str, parameters: Any = ()) -> list[Any]:
        """Run a statement of the caller's within this transaction; its rows."""
        return await self._thread.run(lambda: self._connection.fetch(sql, parameters))

    async def run(self, plan: Plan[T], dialect: object = None, *, writes: bool = True) -> T:
        """Carry a plan out within this transaction: all of it, or, if it raises, none of it."""
        return await self._thread.run(lambda: self._run_whole(plan))

    def _run_whole(self, plan: Plan[T]) -> T:
        self._connection.fetch("SAVEPOINT postroom_plan")
        try:
            return self._database.run_on(self._connection, plan)
        except BaseException:
            self._connection.fetch("ROLLBACK TO postroom_plan")
            raise
        finally:
            self._connection.fetch("RELEASE postroom_plan")

    def postroom_caller(self) -> AsyncSqliteConnection:
        return self

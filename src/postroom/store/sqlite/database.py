"""Our own connections to a SQLite file: WAL, every commit on disk before it returns."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from postroom.errors import ConfigurationError, PostroomError
from postroom.store.dialect import PLAIN, Clock, sqlite_dialect
from postroom.store.failures import raise_plainly
from postroom.store.plan import Copy, Plan, Rows, Step, ask, drive
from postroom.store.queries import ParameterStyle

T = TypeVar("T")

LOOK = 0.0005
"""Seconds between two looks whether another writer has finished."""

OLDEST = (3, 35, 0)
"""The first SQLite with RETURNING."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


class SqliteDatabase:
    """A file, and as many connections to it as are used at once."""

    copies = True

    def __init__(
        self, path: Path, *, prefix: str = "postroom_", clock: Clock | None = None, patience: float = 30
    ) -> None:
        """`patience`: seconds to wait for another writer before saying that the database is busy."""
        if sqlite3.sqlite_version_info < OLDEST:
            raise ConfigurationError(
                f"SQLite {sqlite3.sqlite_version} is too old: Postroom needs 3.35; use a newer Python build"
            )
        self.path = path
        self.dialect = sqlite_dialect(prefix=prefix, clock=clock or _utc_now)
        self._patience = patience
        self._local = threading.local()
        self._lock = threading.Lock()
        self._open: set[sqlite3.Connection] = set()
        self._idle: list[sqlite3.Connection] = []

    def run(self, plan: Plan[T], *, writes: bool = True, atomic: bool = True) -> T:
        """Carry a plan out in a transaction of its own; or, not `atomic`, each step in its own."""
        if atomic or not writes:
            with self.transaction(writes=writes) as connection:
                return self.run_on(connection, plan)
        with self.connection() as connection:
            return self._run(plan, lambda step: self._execute_apart(connection, step))

    def run_on(self, connection: sqlite3.Connection, plan: Plan[T]) -> T:
        """Carry a plan out on one of our connections, within its transaction."""
        return self._run(plan, lambda step: self._execute(connection, step))

    @contextmanager
    def transaction(self, *, writes: bool = True) -> Iterator[sqlite3.Connection]:
        """A transaction; commits at the end of the block, rolls back if it raises."""
        with self.connection() as connection, self._transaction(connection, writes=writes):
            yield connection

    @contextmanager
    def _transaction(self, connection: sqlite3.Connection, *, writes: bool) -> Iterator[None]:
        try:
            self._begin(connection, writes=writes)
        except sqlite3.Error as error:
            raise_plainly(error)
        try:
            yield
        except BaseException:
            connection.rollback()
            raise
        try:
            connection.commit()
        except sqlite3.Error as error:
            connection.rollback()
            raise_plainly(error)

    def _begin(self, connection: sqlite3.Connection, *, writes: bool) -> None:
        """A writer takes the write lock at once: upgrading later could fail where waiting would have helped.

        SQLite waits for it in steps that grow to a tenth of a second, by when the next writer has come and gone. Where
        several workers write all the time, looking often is what keeps them busy.
        """
        if not writes:
            connection.execute("BEGIN")
            return
        end = time.monotonic() + self._patience
        connection.execute("PRAGMA busy_timeout = 0")
        try:
            while not self._has_begun(connection, last=time.monotonic() > end):
                time.sleep(LOOK)
        finally:
            connection.execute(f"PRAGMA busy_timeout = {self._patience * 1000:.0f}")

    @staticmethod
    def _has_begun(connection: sqlite3.Connection, *, last: bool) -> bool:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            # Also while another process mends what a killed one left: that is SQLITE_BUSY_RECOVERY.
            if last or not error.sqlite_errorname.startswith("SQLITE_BUSY"):
                raise
            return False
        return True

    @contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """A connection, in autocommit mode, for as long as the block lasts.

        One at a time for each thread: a second writer on the same thread would wait for the first for ever.
        """
        self.check_free()
        connection = self._take()
        self._local.busy = True
        try:
            yield connection
        finally:
            self._local.busy = False
            self._give_back(connection)

    def check_free(self) -> None:
        """Refuse what would wait for ever: this thread has a transaction open."""
        if getattr(self._local, "busy", False):
            raise PostroomError(
                "this thread is inside outbox.transaction() already; "
                "pass the connection it gave you as connection=, so that both are one transaction"
            )

    def close(self) -> None:
        """Close every connection, also those that other threads have taken."""
        with self._lock:
            for connection in self._open:
                connection.close()
            self._open.clear()
            self._idle.clear()

    def _take(self) -> sqlite3.Connection:
        """One that nobody uses, or a new one: there are as many as were ever needed at once, however many threads."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
        connection = self._connect()
        with self._lock:
            self._open.add(connection)
        return connection

    def _give_back(self, connection: sqlite3.Connection) -> None:
        with self._lock:
            if connection in self._open:  # not closed meanwhile
                self._idle.append(connection)

    def _connect(self) -> sqlite3.Connection:
        try:
            # Used by one thread at a time, though not always by the same one: hence no check.
            connection = sqlite3.connect(
                self.path, timeout=self._patience, isolation_level=None, check_same_thread=False
            )
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA temp_store = MEMORY")
            # SQLite lowers ASCII only; people search in every script.
            connection.create_function("lower", 1, _lower, deterministic=True)
            for sql, _ in self.dialect.speak(ask("prepare_connection"), ParameterStyle.NAMED):
                connection.execute(sql)
            return connection
        except sqlite3.Error as error:
            raise_plainly(error)

    def _run(self, plan: Plan[T], execute: Callable[[Step], Rows]) -> T:
        try:
            return drive(plan, execute)
        except sqlite3.Error as error:
            raise_plainly(error)

    def _execute(self, connection: sqlite3.Connection, step: Step) -> Rows:
        if isinstance(step, Copy):
            return self._copy(connection, step)
        return _fetch(connection, self.dialect.speak(step, ParameterStyle.NAMED))

    def _execute_apart(self, connection: sqlite3.Connection, step: Step) -> Rows:
        """Carry a step out in a transaction of its own. What it asks for last is read when the others may write again:
        reading the emails of a claim takes longer than claiming them."""
        if isinstance(step, Copy):
            with self._transaction(connection, writes=True):
                return self._copy(connection, step)
        statements = list(self.dialect.speak(step, ParameterStyle.NAMED))
        question = [statements.pop()] if statements[-1][0].startswith("SELECT") else []
        rows: Rows = []
        if statements:
            with self._transaction(connection, writes=True):
                rows = _fetch(connection, statements)
        return _fetch(connection, question) if question else rows

    def _copy(self, connection: sqlite3.Connection, copy: Copy) -> Rows:
        """SQLite has no COPY; one prepared INSERT run over all rows is its quickest way."""
        columns, places = ", ".join(copy.columns), ", ".join("?" * len(copy.columns))
        encode = self.dialect.encode
        connection.executemany(
            f"INSERT INTO {self.dialect.tables}{copy.table} ({columns}) VALUES ({places})",  # noqa: S608  (all ours)
            ([value if type(value) in PLAIN else encode(value) for value in row] for row in copy.rows),
        )
        return []


def _fetch(connection: sqlite3.Connection, statements: Iterable[tuple[str, Any]]) -> Rows:
    """Execute statements one after the other; the rows of the last one."""
    rows: Rows = []
    for sql, values in statements:
        rows = connection.execute(sql, values).fetchall()
    return rows


def _lower(text: str | None) -> str | None:
    return None if text is None else text.lower()


class AsyncSqliteDatabase:
    """The same for event loops: plans run whole, in a thread of their own, so that the loop never waits for a disk."""

    copies = True

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database
        self.path = database.path
        self.dialect = database.dialect
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="postroom-sqlite")

    async def run(self, plan: Plan[T], *, writes: bool = True, atomic: bool = True) -> T:
        """Carry a plan out in a transaction of its own; or, not `atomic`, each step in its own."""
        return await self._in_thread(lambda: self._database.run(plan, writes=writes, atomic=atomic))

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncSqliteConnection]:
        """A transaction with a thread and a connection to itself, so that nothing else of ours falls into it."""
        thread = ThreadPoolExecutor(1, thread_name_prefix="postroom-sqlite-transaction")
        loop = asyncio.get_running_loop()
        transaction = self._database.transaction()
        connection = await loop.run_in_executor(thread, transaction.__enter__)
        try:
            yield AsyncSqliteConnection(self._database, connection, thread)
        except BaseException as error:
            await asyncio.shield(
                loop.run_in_executor(thread, _leave, transaction.__exit__, type(error), error, error.__traceback__)
            )
            raise
        else:
            await asyncio.shield(loop.run_in_executor(thread, transaction.__exit__, None, None, None))
        finally:
            thread.shutdown(wait=False)

    async def refresh(self) -> None:
        """Nothing to do: a file does not go away and come back."""

    async def close(self) -> None:
        await self._in_thread(self._database.close)
        self._thread.shutdown(wait=False)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


def _leave(leave: Callable[..., Any], *details: Any) -> None:
    """Roll back; the block's own error goes on by itself."""
    try:
        leave(*details)
    except BaseException as error:
        if error is not details[1]:
            raise


class AsyncSqliteConnection:
    """What `AsyncOutbox.transaction()` gives on SQLite: `await connection.execute(sql, parameters)`."""

    dialect_name = "sqlite"
    is_async = True
    copies = True

    def __init__(self, database: SqliteDatabase, connection: sqlite3.Connection, thread: ThreadPoolExecutor) -> None:
        self._database = database
        self._connection = connection
        self._thread = thread

    async def execute(self, sql: str, parameters: Any = ()) -> list[Any]:
        """Run a statement of the caller's within this transaction; its rows."""
        return await self._in_thread(lambda: self._connection.execute(sql, parameters).fetchall())

    async def run(self, plan: Plan[T], dialect: object = None) -> T:
        """Carry a plan out within this transaction: all of it, or, if it raises, none of it."""
        return await self._in_thread(lambda: self._run_whole(plan))

    def _run_whole(self, plan: Plan[T]) -> T:
        self._connection.execute("SAVEPOINT postroom_plan")
        try:
            return self._database.run_on(self._connection, plan)
        except BaseException:
            self._connection.execute("ROLLBACK TO postroom_plan")
            raise
        finally:
            self._connection.execute("RELEASE postroom_plan")

    def postroom_caller(self) -> AsyncSqliteConnection:
        return self

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

"""Our own connections to a SQLite file: WAL, every commit on disk before it returns."""

from __future__ import annotations

import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from postroom.errors import ConfigurationError, PostroomError
from postroom.fork import tell_after_fork
from postroom.store.dialect import PLAIN, Clock, sqlite_dialect
from postroom.store.failures import raise_plainly
from postroom.store.listening import Listener, tell
from postroom.store.plan import Copy, News, Plan, Rows, Step, ask, drive
from postroom.store.queries import ParameterStyle
from postroom.store.schema import SchemaCheck
from postroom.store.sqlite.connection import Connection, connect
from postroom.store.sqlite.rights import refused

T = TypeVar("T")

LOOK, SELDOM_LOOK = 0.0005, 0.004
"""Seconds between two looks whether another writer has finished: at first, and at most."""

OLDEST = (3, 35, 0)
"""The first SQLite with RETURNING."""


def next_look(waited: float) -> float:
    """Seconds until the next look, for who has waited so long."""
    return min(max(LOOK, waited / 40), SELDOM_LOOK)


def _utc_now() -> datetime:
    return datetime.now(UTC)


class SqliteDatabase:
    """A file, and as many connections to it as are used at once."""

    copies = True

    def __init__(
        self,
        path: Path,
        *,
        prefix: str = "postroom_",
        clock: Clock | None = None,
        patience: float = 30,
        listeners: tuple[Listener, ...] = (),
    ) -> None:
        """`patience`: seconds to wait for another writer before saying that the database is busy."""
        if sqlite3.sqlite_version_info < OLDEST:
            raise ConfigurationError(
                f"SQLite {sqlite3.sqlite_version} is too old: Postroom needs 3.35; use a newer Python build"
            )
        self.path = path
        self.dialect = sqlite_dialect(prefix=prefix, clock=clock or _utc_now)
        self.schema = SchemaCheck("sqlite", self.dialect.tables)
        self.listeners = listeners
        self._patience = patience
        self._begin_anew()
        tell_after_fork(self)

    def _begin_anew(self) -> None:
        self._local = threading.local()
        self._lock = threading.Lock()
        self._open: set[Connection] = set()
        """Every connection; another set in a forked child, by which a block that was entered before knows."""
        self._idle: list[Connection] = []

    def forget_parent(self) -> None:
        """Connections and locks of this process's own; `connection.py` sees to the parent's."""
        self._begin_anew()

    def run(self, plan: Plan[T], *, writes: bool = True, atomic: bool = True) -> T:
        """Carry a plan out in a transaction of its own; or, not `atomic`, each step in its own."""
        plan = self.schema.first(plan)
        if atomic or not writes:
            with self.transaction(writes=writes) as connection:
                return self.run_on(connection, plan)
        with self.connection() as connection:
            return self._run(plan, lambda step: self._execute_apart(connection, step))

    def run_on(self, connection: Connection, plan: Plan[T]) -> T:
        """Carry a plan out on one of our connections, within its transaction."""
        return self._run(plan, lambda step: self._execute(connection, step))

    @contextmanager
    def transaction(self, *, writes: bool = True) -> Iterator[Connection]:
        """A transaction; commits at the end of the block, rolls back if it raises."""
        with self.connection() as connection, self._transaction(connection, writes=writes):
            yield connection

    @contextmanager
    def _transaction(self, connection: Connection, *, writes: bool) -> Iterator[None]:
        process = self._open
        try:
            self._begin(connection, writes=writes)
        except sqlite3.Error as error:
            self._raise_plainly(error)
        try:
            yield
        except BaseException:
            if process is self._open:  # else this is a forked child, and the transaction its parent's
                connection.rollback()
            raise
        if process is self._open:
            self._commit(connection)

    @staticmethod
    def _commit(connection: Connection) -> None:
        try:
            connection.commit()
        except sqlite3.Error as error:
            connection.rollback()
            raise_plainly(error)

    def _begin(self, connection: Connection, *, writes: bool) -> None:
        """A writer takes the write lock at once: upgrading later could fail where waiting would have helped."""
        if writes:
            self._get_through(connection, "BEGIN IMMEDIATE")
        else:
            connection.fetch("BEGIN")

    def _get_through(self, connection: Connection, statement: str) -> None:
        """Execute what has to wait for others, looking often.

        SQLite waits for the write lock in steps that grow to a tenth of a second, by when the next writer has come and
        gone: where several workers write all the time, looking often is what keeps them busy. For the change to WAL,
        and while another process mends what a killed one left, it does not wait at all.

        Who has waited for long looks less often: on a busy machine a crowd that looks all the time leaves the writer
        it waits for no processor to finish on.
        """
        began = time.monotonic()
        connection.fetch("PRAGMA busy_timeout = 0")
        try:
            while not self._got_through(connection, statement, last=time.monotonic() - began > self._patience):
                time.sleep(next_look(time.monotonic() - began))
        finally:
            connection.fetch(f"PRAGMA busy_timeout = {self._patience * 1000:.0f}")

    @staticmethod
    def _got_through(connection: Connection, statement: str, *, last: bool) -> bool:
        try:
            connection.fetch(statement)
        except sqlite3.OperationalError as error:
            if last or not error.sqlite_errorname.startswith("SQLITE_BUSY"):
                raise
            return False
        return True

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """A connection, in autocommit mode, for as long as the block lasts.

        One at a time for each thread: a second writer on the same thread would wait for the first for ever.
        """
        self.check_free()
        connection = self._take()
        process = self._open
        self._local.busy = True
        try:
            yield connection
        finally:
            if process is self._open:
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

    def _take(self) -> Connection:
        """One that nobody uses, or a new one: there are as many as were ever needed at once, however many threads."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
        connection = self._connect()
        with self._lock:
            self._open.add(connection)
        return connection

    def _give_back(self, connection: Connection) -> None:
        with self._lock:
            if connection in self._open:  # not closed meanwhile
                self._idle.append(connection)

    def _connect(self) -> Connection:
        try:
            connection = connect(self.path, patience=self._patience)
            try:
                self._prepare(connection)
            except BaseException:
                connection.close()
                raise
        except sqlite3.Error as error:
            self._raise_plainly(error)
        return connection

    def _prepare(self, connection: Connection) -> None:
        self._get_through(connection, "PRAGMA journal_mode = WAL")
        connection.fetch("PRAGMA synchronous = FULL")
        connection.fetch("PRAGMA foreign_keys = ON")
        connection.fetch("PRAGMA temp_store = MEMORY")
        # SQLite lowers ASCII only; people search in every script.
        connection.create_function("lower", 1, _lower, deterministic=True)
        for sql, _ in self.dialect.speak(ask("prepare_connection"), ParameterStyle.NAMED):
            connection.fetch(sql)

    def _raise_plainly(self, error: sqlite3.Error) -> NoReturn:
        if (known := refused(self.path, error)) is not None:
            raise known from error
        raise_plainly(error)

    def _run(self, plan: Plan[T], execute: Callable[[Step], Rows]) -> T:
        try:
            return drive(plan, execute)
        except sqlite3.Error as error:
            self._raise_plainly(error)

    def _execute(self, connection: Connection, step: Step) -> Rows:
        if isinstance(step, Copy):
            return self._copy(connection, step)
        if isinstance(step, News):
            return drive(tell(step, self.listeners), lambda heard: self._execute(connection, heard))
        return _fetch(connection, self.dialect.speak(step, ParameterStyle.NAMED))

    def _execute_apart(self, connection: Connection, step: Step) -> Rows:
        """Carry a step out in a transaction of its own. What it asks for last is read when the others may write again:
        reading the emails of a claim takes longer than claiming them."""
        if isinstance(step, Copy):
            with self._transaction(connection, writes=True):
                return self._copy(connection, step)
        if isinstance(step, News):
            return self._told_nobody()
        statements = list(self.dialect.speak(step, ParameterStyle.NAMED))
        question = [statements.pop()] if _is_question(statements[-1][0]) else []
        rows: Rows = []
        if statements:
            with self._transaction(connection, writes=True):
                rows = _fetch(connection, statements)
        return _fetch(connection, question) if question else rows

    def _told_nobody(self) -> Rows:
        if self.listeners:
            raise RuntimeError("what is changed step by step cannot be listened to; run the plan as one transaction")
        return []

    def _copy(self, connection: Connection, copy: Copy) -> Rows:
        """SQLite has no COPY; one prepared INSERT run over all rows is its quickest way."""
        columns, places = ", ".join(copy.columns), ", ".join("?" * len(copy.columns))
        encode = self.dialect.encode
        connection.executemany(
            f"INSERT INTO {self.dialect.tables}{copy.table} ({columns}) VALUES ({places})",  # noqa: S608  (all ours)
            ([value if type(value) in PLAIN else encode(value) for value in row] for row in copy.rows),
        )
        return []


@lru_cache
def _is_question(sql: str) -> bool:
    """Whether a statement writes nothing. One that begins with a common table may do either."""
    return sql.startswith(("SELECT", "WITH")) and not _WRITES.search(sql)


_WRITES = re.compile(r"\b(INSERT|UPDATE|DELETE)\b")


def _fetch(connection: Connection, statements: Iterable[tuple[str, Any]]) -> Rows:
    """Execute statements one after the other; the rows of the last one."""
    rows: Rows = []
    for sql, values in statements:
        rows = connection.fetch(sql, values)
    return rows


def _lower(text: str | None) -> str | None:
    return None if text is None else text.lower()

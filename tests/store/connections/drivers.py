"""Applications that use a driver directly."""

from __future__ import annotations

import sqlite3
from typing import Any

import aiosqlite
import asyncpg
import psycopg
from psycopg.rows import dict_row

from tests.store.connections.database import Database
from tests.store.connections.session import Session


def as_dict(cursor: Any, row: Any) -> dict[str, Any]:
    return {column[0]: value for column, value in zip(cursor.description, row, strict=True)}


class Sqlite3Session(Session):
    def __init__(self, database: Database, *, isolation_level: Any = "", begin: str = "") -> None:
        super().__init__(database)
        self._isolation_level = isolation_level
        self._begin = begin

    async def open(self) -> None:
        self.connection = sqlite3.connect(self.database.path, isolation_level=self._isolation_level)

    async def close(self) -> None:
        self.connection.close()

    async def begin(self) -> None:
        if self._begin:
            self.connection.execute(self._begin)

    async def insert(self, name: str) -> None:
        self.connection.execute("INSERT INTO orders (name) VALUES (?)", (self.token + name,))

    async def commit(self) -> None:
        self.connection.commit()

    async def rollback(self) -> None:
        self.connection.rollback()

    async def savepoint(self) -> None:
        self.connection.execute("SAVEPOINT mine")

    async def release_savepoint(self) -> None:
        self.connection.execute("RELEASE mine")

    async def rollback_to_savepoint(self) -> None:
        self.connection.execute("ROLLBACK TO mine")

    async def use_strange_rows(self) -> None:
        self.connection.row_factory = as_dict
        self.connection.text_factory = bytes


class AiosqliteSession(Session):
    def __init__(self, database: Database, *, isolation_level: Any = "", begin: str = "") -> None:
        super().__init__(database)
        self._isolation_level = isolation_level
        self._begin = begin

    async def open(self) -> None:
        self.connection = await aiosqlite.connect(self.database.path, isolation_level=self._isolation_level)

    async def close(self) -> None:
        await self.connection.close()

    async def begin(self) -> None:
        if self._begin:
            await self.connection.execute(self._begin)

    async def insert(self, name: str) -> None:
        await self.connection.execute("INSERT INTO orders (name) VALUES (?)", (self.token + name,))

    async def commit(self) -> None:
        await self.connection.commit()

    async def rollback(self) -> None:
        await self.connection.rollback()

    async def savepoint(self) -> None:
        await self.connection.execute("SAVEPOINT mine")

    async def release_savepoint(self) -> None:
        await self.connection.execute("RELEASE mine")

    async def rollback_to_savepoint(self) -> None:
        await self.connection.execute("ROLLBACK TO mine")

    async def use_strange_rows(self) -> None:
        self.connection.row_factory = as_dict
        self.connection.text_factory = bytes


class PsycopgSession(Session):
    def __init__(self, database: Database, *, autocommit: bool = False) -> None:
        super().__init__(database)
        self._autocommit = autocommit

    async def open(self) -> None:
        self.connection = psycopg.connect(self.database.url, autocommit=self._autocommit)

    async def close(self) -> None:
        self.connection.close()

    async def begin(self) -> None:
        if self._autocommit:
            self.connection.execute("BEGIN")

    async def insert(self, name: str) -> None:
        psycopg.Cursor(self.connection).execute("INSERT INTO orders (name) VALUES (%s)", (self.token + name,))

    async def commit(self) -> None:
        self.connection.commit()

    async def rollback(self) -> None:
        self.connection.rollback()

    async def savepoint(self) -> None:
        self.connection.execute("SAVEPOINT mine")

    async def release_savepoint(self) -> None:
        self.connection.execute("RELEASE mine")

    async def rollback_to_savepoint(self) -> None:
        self.connection.execute("ROLLBACK TO mine")

    async def use_strange_rows(self) -> None:
        self.connection.row_factory = dict_row
        self.connection.cursor_factory = psycopg.RawCursor


class AsyncPsycopgSession(Session):
    def __init__(self, database: Database, *, autocommit: bool = False) -> None:
        super().__init__(database)
        self._autocommit = autocommit

    async def open(self) -> None:
        self.connection = await psycopg.AsyncConnection.connect(self.database.url, autocommit=self._autocommit)

    async def close(self) -> None:
        await self.connection.close()

    async def begin(self) -> None:
        if self._autocommit:
            await self.connection.execute("BEGIN")

    async def insert(self, name: str) -> None:
        cursor = psycopg.AsyncCursor(self.connection)
        await cursor.execute("INSERT INTO orders (name) VALUES (%s)", (self.token + name,))

    async def commit(self) -> None:
        await self.connection.commit()

    async def rollback(self) -> None:
        await self.connection.rollback()

    async def savepoint(self) -> None:
        await self.connection.execute("SAVEPOINT mine")

    async def release_savepoint(self) -> None:
        await self.connection.execute("RELEASE mine")

    async def rollback_to_savepoint(self) -> None:
        await self.connection.execute("ROLLBACK TO mine")

    async def use_strange_rows(self) -> None:
        self.connection.row_factory = dict_row
        self.connection.cursor_factory = psycopg.AsyncRawCursor


class AsyncpgSession(Session):
    async def open(self) -> None:
        self.connection = await asyncpg.connect(self.database.url)

    async def close(self) -> None:
        await self.connection.close()

    async def begin(self) -> None:
        self._transaction = self.connection.transaction()
        await self._transaction.start()

    async def insert(self, name: str) -> None:
        await self.connection.execute("INSERT INTO orders (name) VALUES ($1)", self.token + name)

    async def commit(self) -> None:
        await self._transaction.commit()

    async def rollback(self) -> None:
        await self._transaction.rollback()

    async def savepoint(self) -> None:
        self._nested = self.connection.transaction()
        await self._nested.start()

    async def release_savepoint(self) -> None:
        await self._nested.commit()

    async def rollback_to_savepoint(self) -> None:
        await self._nested.rollback()


class AsyncpgPoolSession(AsyncpgSession):
    """What a pool hands out is a proxy."""

    async def open(self) -> None:
        self._pool = await asyncpg.create_pool(self.database.url, min_size=1, max_size=1)
        self.connection = await self._pool.acquire()

    async def close(self) -> None:
        await self._pool.release(self.connection)
        await self._pool.close()

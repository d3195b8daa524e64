"""sqlite3 and aiosqlite."""

from __future__ import annotations

from typing import Any

from postroom.store.connections.driver import AsyncDriver, SyncDriver
from postroom.store.connections.transaction import Bracket, aiosqlite_bracket, sqlite_bracket
from postroom.store.plan import Rows
from postroom.store.queries import ParameterStyle


class Sqlite3Caller(SyncDriver):
    """`sqlite3.Connection`."""

    dialect_name = "sqlite"
    style = ParameterStyle.NAMED

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def bracket(self) -> Bracket:
        return sqlite_bracket(self._connection)

    def execute(self, sql: str, parameters: Any = None) -> Rows:
        cursor = self._connection.cursor()
        try:
            cursor.row_factory = None
            cursor.execute(sql, parameters or {})
            return as_text(cursor.fetchall()) if cursor.description else []
        finally:
            cursor.close()


class AiosqliteCaller(AsyncDriver):
    """`aiosqlite.Connection`."""

    dialect_name = "sqlite"
    style = ParameterStyle.NAMED

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def bracket(self) -> Bracket:
        return await aiosqlite_bracket(self._connection)

    async def execute(self, sql: str, parameters: Any = None) -> Rows:
        async with self._connection.cursor() as cursor:
            cursor.row_factory = None
            await cursor.execute(sql, parameters or {})
            return as_text(await cursor.fetchall()) if cursor.description else []


def as_text(rows: Any) -> Rows:
    """Text as `str`, also where the caller's `text_factory` is `bytes`: what plans read here has no octets in it."""
    return [tuple(value.decode() if isinstance(value, bytes) else value for value in row) for row in rows]

"""psycopg, sync and async, and asyncpg; neither is imported before a caller brings one."""

from __future__ import annotations

from functools import cache
from typing import Any

from postroom.store.connections.driver import AsyncDriver, SyncDriver
from postroom.store.connections.transaction import Bracket, asyncpg_bracket, psycopg_bracket
from postroom.store.dialect import Dialect
from postroom.store.plan import Copy, Rows
from postroom.store.queries import ParameterStyle


@cache
def _plain() -> tuple[Any, Any, Any]:
    """psycopg's own cursors and rows; imported when the caller has shown that it is there."""
    from psycopg import AsyncCursor, Cursor
    from psycopg.rows import tuple_row

    return Cursor, AsyncCursor, tuple_row


def gives_rows(cursor: Any) -> bool:
    """Whether psycopg's last result has rows, or could have had. `description` makes a value for each column first."""
    result = cursor.pgresult
    return result is not None and result.nfields > 0


class PsycopgCaller(SyncDriver):
    """`psycopg.Connection`."""

    dialect_name = "postgres"
    copies = True
    style = ParameterStyle.PYFORMAT

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def bracket(self) -> Bracket:
        return psycopg_bracket(self._connection)

    def execute(self, sql: str, parameters: Any = None) -> Rows:
        with self._cursor() as cursor:
            cursor.execute(sql, parameters)
            return cursor.fetchall() if gives_rows(cursor) else []

    def copy(self, copy: Copy, dialect: Dialect) -> None:
        with self._cursor() as cursor, cursor.copy(copy_sql(copy, dialect)) as stream:
            for row in copy.rows:
                stream.write_row(row)

    def _cursor(self) -> Any:
        """A plain one: neither the caller's row factory nor the caller's cursor factory may matter."""
        cursor, _, rows = _plain()
        return cursor(self._connection, row_factory=rows)


class AsyncPsycopgCaller(AsyncDriver):
    """`psycopg.AsyncConnection`."""

    dialect_name = "postgres"
    copies = True
    style = ParameterStyle.PYFORMAT

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def bracket(self) -> Bracket:
        return psycopg_bracket(self._connection)

    async def execute(self, sql: str, parameters: Any = None) -> Rows:
        async with self._cursor() as cursor:
            await cursor.execute(sql, parameters)
            return await cursor.fetchall() if gives_rows(cursor) else []

    async def copy(self, copy: Copy, dialect: Dialect) -> None:
        async with self._cursor() as cursor, cursor.copy(copy_sql(copy, dialect)) as stream:
            for row in copy.rows:
                await stream.write_row(row)

    def _cursor(self) -> Any:
        _, cursor, rows = _plain()
        return cursor(self._connection, row_factory=rows)


class AsyncpgCaller(AsyncDriver):
    """`asyncpg.Connection`, or the proxy for one that a pool hands out."""

    dialect_name = "postgres"
    copies = True
    style = ParameterStyle.DOLLAR

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def bracket(self) -> Bracket:
        return asyncpg_bracket(self._connection)

    async def execute(self, sql: str, parameters: Any = None) -> Rows:
        return await self._connection.fetch(sql, *(parameters or ()))  # type: ignore[no-any-return]

    async def copy(self, copy: Copy, dialect: Dialect) -> None:
        await self._connection.copy_records_to_table(
            copy.table,
            schema_name=dialect.tables.removesuffix("."),
            columns=copy.columns,
            records=copy.rows,
        )


def copy_sql(copy: Copy, dialect: Dialect) -> str:
    return f"COPY {dialect.tables}{copy.table} ({', '.join(copy.columns)}) FROM STDIN"

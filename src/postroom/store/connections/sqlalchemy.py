"""SQLAlchemy: connections and sessions, Core and ORM, sync and async, over either database.

Statements go through `exec_driver_sql`, so that SQLAlchemy knows of the transaction they are part of; where that
transaction stands is asked of the driver's connection underneath, for only the driver knows. The async kinds run the
sync one inside SQLAlchemy's own greenlet: there is no second implementation to keep in step.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from postroom.errors import UnknownConnection
from postroom.store.connections.driver import SyncDriver
from postroom.store.connections.transaction import (
    Bracket,
    aiosqlite_bracket,
    asyncpg_bracket,
    psycopg_bracket,
    sqlite_bracket,
)
from postroom.store.dialect import Dialect
from postroom.store.plan import Plan, Rows
from postroom.store.queries import ParameterStyle

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Underneath:
    """A driver below SQLAlchemy."""

    dialect_name: str
    style: ParameterStyle
    bracket: Callable[[Any], Bracket]
    """Given SQLAlchemy's pooled connection."""


def _asyncpg_bracket(pooled: Any) -> Bracket:
    """SQLAlchemy begins asyncpg's transaction with the first statement, unless it is in autocommit."""
    return asyncpg_bracket(pooled.driver_connection) if pooled.dbapi_connection.autocommit else Bracket()


def _sqlite(pooled: Any) -> Bracket:
    return sqlite_bracket(pooled.driver_connection)


def _aiosqlite(pooled: Any) -> Bracket:
    return pooled.dbapi_connection.run_async(aiosqlite_bracket)  # type: ignore[no-any-return]


def _psycopg(pooled: Any) -> Bracket:
    return psycopg_bracket(pooled.driver_connection)


_DRIVERS = {
    "sqlite+pysqlite": _Underneath("sqlite", ParameterStyle.NAMED, _sqlite),
    "sqlite+aiosqlite": _Underneath("sqlite", ParameterStyle.NAMED, _aiosqlite),
    "postgresql+psycopg": _Underneath("postgres", ParameterStyle.PYFORMAT, _psycopg),
    "postgresql+psycopg2": _Underneath("postgres", ParameterStyle.PYFORMAT, _psycopg),
    "postgresql+asyncpg": _Underneath("postgres", ParameterStyle.DOLLAR, _asyncpg_bracket),
}


def _underneath(dialect: Any) -> _Underneath:
    name = f"{dialect.name}+{dialect.driver}"
    if name not in _DRIVERS:
        raise UnknownConnection(
            f"Postroom cannot enqueue through SQLAlchemy over {name}; it can over {', '.join(_DRIVERS)}"
        )
    return _DRIVERS[name]


class SqlalchemyCaller(SyncDriver):
    """`sqlalchemy.Connection`."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._driver = _underneath(connection.dialect)
        self.dialect_name = self._driver.dialect_name
        self.style = self._driver.style

    def bracket(self) -> Bracket:
        # What the first statement would do by itself, done before looking: users hang a BEGIN of their own on it.
        if not self._connection.in_transaction():
            self._connection.begin()
        return self._driver.bracket(self._connection.connection)

    def execute(self, sql: str, parameters: Any = None) -> Rows:
        result = self._connection.exec_driver_sql(sql, parameters)
        return result.all() if result.returns_rows else []


class SqlalchemySessionCaller:
    """`Session` or `scoped_session`, by way of the connection of its transaction."""

    is_async: Literal[False] = False
    copies = False

    def __init__(self, session: Any) -> None:
        self._session = session
        self.dialect_name = _underneath(session.get_bind().dialect).dialect_name

    def run(self, plan: Plan[T], dialect: Dialect, *, writes: bool = True) -> T:
        return SqlalchemyCaller(self._session.connection()).run(plan, dialect, writes=writes)


class AsyncSqlalchemyCaller:
    """`AsyncConnection`."""

    is_async: Literal[True] = True
    copies = False

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.dialect_name = _underneath(connection.dialect).dialect_name

    def run(self, plan: Plan[T], dialect: Dialect, *, writes: bool = True) -> Awaitable[T]:
        return self._connection.run_sync(  # type: ignore[no-any-return]
            lambda connection: SqlalchemyCaller(connection).run(plan, dialect, writes=writes)
        )


class AsyncSqlalchemySessionCaller:
    """`AsyncSession` or `async_scoped_session`."""

    is_async: Literal[True] = True
    copies = False

    def __init__(self, session: Any) -> None:
        self._session = session
        self.dialect_name = _underneath(session.get_bind().dialect).dialect_name

    async def run(self, plan: Plan[T], dialect: Dialect, *, writes: bool = True) -> T:
        return await AsyncSqlalchemyCaller(await self._session.connection()).run(plan, dialect, writes=writes)

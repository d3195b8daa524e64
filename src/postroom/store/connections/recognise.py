"""Which kind of connection a caller has brought: told by the names of its classes, so that nothing is imported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from postroom.errors import UnknownConnection
from postroom.store.connections.caller import AsyncCaller, SyncCaller
from postroom.store.connections.django import DjangoCaller
from postroom.store.connections.postgres import AsyncpgCaller, AsyncPsycopgCaller, PsycopgCaller
from postroom.store.connections.sqlalchemy import (
    AsyncSqlalchemyCaller,
    AsyncSqlalchemySessionCaller,
    SqlalchemyCaller,
    SqlalchemySessionCaller,
)
from postroom.store.connections.sqlite import AiosqliteCaller, Sqlite3Caller

Name = tuple[str, str]
"""A class by its top-level package and its name; where inside the package it lives is the package's own affair."""

Kind = Callable[[Any], SyncCaller | AsyncCaller]

_KINDS: dict[Name, Kind] = {
    ("sqlite3", "Connection"): Sqlite3Caller,
    ("aiosqlite", "Connection"): AiosqliteCaller,
    ("psycopg", "Connection"): PsycopgCaller,
    ("psycopg", "AsyncConnection"): AsyncPsycopgCaller,
    ("asyncpg", "Connection"): AsyncpgCaller,
    ("asyncpg", "PoolConnectionProxy"): AsyncpgCaller,
    ("sqlalchemy", "Connection"): SqlalchemyCaller,
    ("sqlalchemy", "Session"): SqlalchemySessionCaller,
    ("sqlalchemy", "scoped_session"): SqlalchemySessionCaller,
    ("sqlalchemy", "AsyncConnection"): AsyncSqlalchemyCaller,
    ("sqlalchemy", "AsyncSession"): AsyncSqlalchemySessionCaller,
    ("sqlalchemy", "async_scoped_session"): AsyncSqlalchemySessionCaller,
    ("django", "BaseDatabaseWrapper"): DjangoCaller,
    ("django", "ConnectionProxy"): DjangoCaller,
}

_found: dict[type, Kind | None] = {}
"""What was recognised before: applications have a few classes of connections, and use them for every email."""

_NEARLY: dict[Name, str] = {
    ("psycopg_pool", "BasePool"): "a pool; give a connection from it: `with pool.connection() as connection: …`",
    ("asyncpg", "Pool"): "a pool; give a connection from it: `async with pool.acquire() as connection: …`",
    ("sqlalchemy", "Engine"): "an engine; give a connection from it: `with engine.begin() as connection: …`",
    ("sqlalchemy", "AsyncEngine"): "an engine; give a connection from it: `async with engine.begin() as connection: …`",
    ("sqlalchemy", "sessionmaker"): "a session factory; give a session from it: `with factory.begin() as session: …`",
    ("sqlalchemy", "async_sessionmaker"): (
        "a session factory; give a session from it: `async with factory.begin() as session: …`"
    ),
    ("django", "BaseConnectionHandler"): "a collection of connections; give one of them: `connections['default']`",
    ("sqlite3", "Cursor"): "a cursor; give its connection: `cursor.connection`",
    ("psycopg", "BaseCursor"): "a cursor; give its connection: `cursor.connection`",
}
"""What is given by mistake, and what to give instead."""

_KNOWN = (
    "sqlite3, aiosqlite, psycopg (sync and async) and asyncpg connections; SQLAlchemy's Connection, Session, "
    "AsyncConnection and AsyncSession over SQLite and PostgreSQL; Django's connection to either; and what "
    "outbox.transaction() gives"
)


def recognise(connection: object) -> SyncCaller | AsyncCaller:
    """The connection as a caller that can carry plans out; `UnknownConnection` says what to give instead."""
    if hasattr(connection, "postroom_caller"):
        return connection.postroom_caller()  # type: ignore[no-any-return]
    kind = _kind(type(connection))
    if kind is None:
        raise UnknownConnection(_advice(connection, _names(type(connection))))
    return kind(connection)


def _kind(given: type) -> Kind | None:
    if given not in _found:
        _found[given] = next((_KINDS[name] for name in _names(given) if name in _KINDS), None)
    return _found[given]


def _names(kind: type) -> tuple[Name, ...]:
    return tuple((each.__module__.partition(".")[0], each.__qualname__) for each in kind.__mro__)


def _advice(connection: object, names: tuple[Name, ...]) -> str:
    kind = f"{type(connection).__module__}.{type(connection).__qualname__}"
    for name in names:
        if name in _NEARLY:
            return f"connection= was given a {kind}: this is {_NEARLY[name]}"
    return f"connection= was given a {kind}, through which Postroom cannot enqueue; it knows {_KNOWN}"

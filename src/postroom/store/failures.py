"""What a database's errors mean to Postroom, whichever driver or framework they came through.

Drivers are recognised by what their errors say (SQLSTATE, SQLite's error name), never by importing them. Frameworks
wrap a driver's error and keep it as the cause, so the whole chain of causes is looked at.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import NoReturn

from postroom.errors import PostroomError, SchemaError, StoreUnavailable

_NO_SUCH_TABLE = {"42P01", "3F000"}
"""PostgreSQL: undefined table, undefined schema."""

_PASSING_CLASSES = {"08", "40", "53", "57", "58"}
"""PostgreSQL, by the first two letters: the connection itself; a transaction given up for another one's sake, of which
nothing remains; out of memory, disk or connections; an operator or a limit stepped in (shutting down, starting up,
query cancelled, idle for too long); the server's own machine failed. None of it is about the statement: the same one
may well succeed in a moment. `XX` is not among them: an internal error or damaged data does not pass by waiting, and
waiting would hide it."""

_PASSING = {"25006", "25P03", "25P04", "55P03"}
"""Read-only, as a server is that was the first before a failover; a transaction that was idle, or took, too long; a
lock that was not to be had in time."""

_HARMLESS = {"57014", "55P03", "40001", "40P01"}
"""After these the connection is as good as it was."""

_GAVE_WAY = {"40P01", "55P03"}
"""Of two that waited for each other one was ended; a lock was not to be had in time."""

_READ_ONLY = "25006"

_SQLITE_AWAY = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_CANTOPEN", "SQLITE_IOERR", "SQLITE_FULL", "SQLITE_PROTOCOL")


def translated(error: BaseException) -> PostroomError | None:
    """The error in Postroom's words; None when it is neither about our tables nor about reaching the database.

    For our own connections. On a caller's connection only `missing_tables` is translated: how to treat a connection
    that broke is the caller's to decide, by the errors of the caller's driver.
    """
    return missing_tables(error) or unavailable(error)


def missing_tables(error: BaseException) -> SchemaError | None:
    """The error as a `SchemaError` when it says that a table or the schema is not there."""
    for cause in _causes(error):
        if _sqlstate(cause) in _NO_SUCH_TABLE or _says_no_such_table(cause):
            return SchemaError(
                f"the database has no Postroom tables ({_first_line(cause)}); run `postroom migrate` or call "
                "outbox.migrate() once, and check that the connection is to the outbox's own database"
            )
    return None


def unavailable(error: BaseException) -> StoreUnavailable | None:
    """The error as a `StoreUnavailable` when it says that the database could not be reached, or could not just now."""
    for cause in _causes(error):
        if _is_away(cause):
            return StoreUnavailable(f"the database is out of reach or too busy just now: {_first_line(cause)}")
    return None


def spoils_connection(error: BaseException) -> bool:
    """Whether the connection on which this was raised is better dropped: it is lost, or it is to a server that cannot
    serve, while a new connection may find another one."""
    return any(_is_away(cause) and _sqlstate(cause) not in _HARMLESS for cause in _causes(error))


def says_read_only(error: BaseException) -> bool:
    """Whether the server may only read: then every connection to it may have been made before a failover."""
    return any(_sqlstate(cause) == _READ_ONLY for cause in _causes(error))


def gave_way(error: BaseException) -> bool:
    """Whether a transaction was given up for the sake of others: begun anew, it may well succeed."""
    return any(_sqlstate(cause) in _GAVE_WAY for cause in _causes(error))


def damaged(error: BaseException) -> bool:
    """Whether the error says that what is stored cannot be read, and nothing about the database as a whole."""
    for cause in _causes(error):
        if isinstance(cause, ValueError) or (_sqlstate(cause) or "").startswith(("22", "XX")):
            return True
        if getattr(cause, "sqlite_errorname", "").startswith("SQLITE_CORRUPT"):
            return True
    return False


def unfit(error: BaseException) -> bool:
    """Whether the error says that what was to be stored cannot be, and nothing about the database as a whole."""
    return damaged(error) or any(
        isinstance(cause, sqlite3.IntegrityError) or (_sqlstate(cause) or "").startswith("23")
        for cause in _causes(error)
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what caused it, each once: `raise error from error` is a chain without an end."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__


def _sqlstate(error: BaseException) -> str | None:
    """psycopg and asyncpg say `sqlstate`, psycopg2 says `pgcode`."""
    return getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)


def _says_no_such_table(error: BaseException) -> bool:
    return isinstance(error, sqlite3.OperationalError) and str(error).startswith("no such table")


def _is_away(error: BaseException) -> bool:
    if isinstance(error, sqlite3.Error):
        # A closed connection has no error name of its own, only words.
        return getattr(error, "sqlite_errorname", "").startswith(_SQLITE_AWAY) or "closed database" in str(error)
    if state := _sqlstate(error):
        return state in _PASSING or state[:2] in _PASSING_CLASSES
    return isinstance(error, ConnectionError) or _is_a_driver_without_server(error)


def _is_a_driver_without_server(error: BaseException) -> bool:
    """psycopg's errors with no SQLSTATE did not come from a server: no connection, a lost one, an exhausted pool."""
    kinds = {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(error).__mro__}
    if ("psycopg", "OperationalError") in kinds:
        return True
    return ("psycopg", "InterfaceError") in kinds and "closed" in str(error)


def _first_line(error: BaseException) -> str:
    """PostgreSQL goes on with the statement and a pointer into it; the first line says what is wrong."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def raise_plainly(error: Exception) -> NoReturn:
    """Raise what a driver's error means to us; one that means nothing in particular goes on as it is."""
    known = translated(error)
    if known is None:
        raise error
    raise known from error

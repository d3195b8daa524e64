"""How a plan's statements are held together on a connection that is not ours.

A plan may be several statements, and has to enter the caller's transaction as one. What that takes depends on where
the connection stands when it is handed to us; all of it is decided here, without touching the connection:

    standing       SQLite                            PostgreSQL
    INSIDE         a savepoint of our own            nothing: a failed statement fails the transaction anyway
    BEGINS         BEGIN, left open for the caller   nothing: the driver begins by itself
    ALONE          BEGIN … COMMIT                    BEGIN … COMMIT

The savepoint makes a failure leave nothing behind and the caller's transaction usable. On SQLite a savepoint outside
a transaction would be one, and its release would commit: hence the BEGIN that Python's module would have sent before
an INSERT, but does not send before a SAVEPOINT.

A plan that only reads leaves nothing open behind it: where no transaction is open on SQLite, it has one of its own, so
that its answers are of one moment; where one is open, it needs nothing, and sees what that transaction has written.
"""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any


class Standing(Enum):
    """Where a connection stands before our first statement."""

    INSIDE = auto()
    """A transaction is open."""
    BEGINS = auto()
    """The caller will commit, and the transaction begins with the next statement."""
    ALONE = auto()
    """Autocommit: no transaction is open, and nobody will commit for us."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bracket:
    """The statements around a plan."""

    open: tuple[str, ...] = ()
    close: tuple[str, ...] = ()
    undo: tuple[str, ...] = ()
    """In place of `close` after a failure."""

    def reading(self) -> Bracket:
        """The statements around a plan that only reads."""
        return _OWN if any(sql.startswith("BEGIN") for sql in self.open) else _NOTHING

    @property
    def is_empty(self) -> bool:
        """The plan is held together already."""
        return not (self.open or self.close or self.undo)


_OWN = Bracket(open=("BEGIN",), close=("COMMIT",), undo=("ROLLBACK",))
_SAVEPOINT = Bracket(
    open=("SAVEPOINT postroom_plan",),
    close=("RELEASE postroom_plan",),
    undo=("ROLLBACK TO postroom_plan", "RELEASE postroom_plan"),
)
_NOTHING = Bracket()


def bracket(dialect_name: str, standing: Standing, *, begin: str = "BEGIN") -> Bracket:
    """What holds a plan together on a connection that stands like this; `begin` is how the caller's driver begins."""
    match dialect_name, standing:
        case _, Standing.ALONE:
            return _OWN
        case "sqlite", Standing.INSIDE:
            return _SAVEPOINT
        case "sqlite", Standing.BEGINS:
            return Bracket(open=(begin,), undo=("ROLLBACK",))
        case _:
            return _NOTHING


def sqlite_bracket(connection: Any) -> Bracket:
    """For a `sqlite3.Connection`, asked on the thread that made it: from Python 3.12 on it tells no other."""
    if connection.in_transaction:
        return bracket("sqlite", Standing.INSIDE)
    # Python 3.12's `autocommit=True` overrules `isolation_level`; with False, a transaction is always open.
    if connection.isolation_level is None or getattr(connection, "autocommit", None) is True:
        return bracket("sqlite", Standing.ALONE)
    return bracket("sqlite", Standing.BEGINS, begin=f"BEGIN {connection.isolation_level}".strip())


def aiosqlite_bracket(connection: Any) -> Awaitable[Bracket]:
    """For an `aiosqlite.Connection`, which has a thread to which it gives everything that is asked of it.

    It offers no `autocommit` of its own; taking it for absent would leave an email uncommitted for ever.
    """
    return connection._execute(sqlite_bracket, connection._conn)  # type: ignore[no-any-return]


def psycopg_bracket(connection: Any) -> Bracket:
    """For a connection of psycopg, sync or async, or of psycopg2; status 0 is libpq's «idle»."""
    if connection.info.transaction_status != 0:
        return bracket("postgres", Standing.INSIDE)
    return bracket("postgres", Standing.ALONE if connection.autocommit else Standing.BEGINS)


def asyncpg_bracket(connection: Any) -> Bracket:
    """For a connection of asyncpg, which knows no transactions but explicit ones."""
    return bracket("postgres", Standing.INSIDE if connection.is_in_transaction() else Standing.ALONE)

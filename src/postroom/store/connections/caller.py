"""The caller's own connection, able to carry a plan out inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Literal, Protocol, TypeVar

from postroom.errors import ConfigurationError
from postroom.store.dialect import Dialect
from postroom.store.failures import missing_tables
from postroom.store.plan import Plan

T = TypeVar("T")

_DATABASES = {"sqlite": "SQLite", "postgres": "PostgreSQL"}


class Caller(Protocol):
    """What is known of a connection before it is used."""

    @property
    def dialect_name(self) -> str:
        """`sqlite` or `postgres`."""

    @property
    def is_async(self) -> bool:
        """`run` is to be awaited."""

    @property
    def copies(self) -> bool:
        """`Copy` steps may be asked of it."""


class SyncCaller(Caller, Protocol):
    """A connection that blocks until a statement is done."""

    @property
    def is_async(self) -> Literal[False]: ...

    def run(self, plan: Plan[T], dialect: Dialect, *, writes: bool = True) -> T:
        """Carry a plan out inside the caller's transaction.

        Afterwards everything the plan wrote stands or falls with that transaction. After a failure nothing of it is
        left, and on SQLite the transaction is as usable as before. A connection in autocommit has committed the whole
        plan, or none of it. A plan that only reads (`writes=False`) sees what that transaction has written, and leaves
        no transaction open where there was none.
        """


class AsyncCaller(Caller, Protocol):
    """A connection whose statements are awaited; the promises are those of `SyncCaller`."""

    @property
    def is_async(self) -> Literal[True]: ...

    def run(self, plan: Plan[T], dialect: Dialect, *, writes: bool = True) -> Awaitable[T]:
        """Carry a plan out inside the caller's transaction."""


def check_dialect(caller: Caller, dialect: Dialect) -> None:
    """Refuse a connection to the other kind of database, before anything is written to it."""
    if caller.dialect_name != dialect.name:
        given, own = _DATABASES[caller.dialect_name], _DATABASES[dialect.name]
        raise ConfigurationError(
            f"the connection is to {given} and the outbox is on {own}: an email can only be part of a transaction of "
            "the outbox's own database; give a connection to it, or open the outbox on the connection's database"
        )


def tell_missing_tables(error: Exception) -> None:
    """Say what to do if the tables are not there; every other error of the driver is the caller's, as it is."""
    if told := missing_tables(error):
        raise told from error

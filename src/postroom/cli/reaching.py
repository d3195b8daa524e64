"""Whether what a command is to work with is there, and what to do if it is not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from postroom.cli.secrets import masked_url
from postroom.errors import ConfigurationError, PostroomError, StoreUnavailable
from postroom.store.open import Database
from postroom.store.postgres.database import PostgresDatabase
from postroom.store.sqlite.database import SqliteDatabase
from postroom.store.sqlite.rights import unusable

_PATIENCE = 10
"""Seconds to wait for PostgreSQL to answer."""


@contextmanager
def settings_read() -> Iterator[None]:
    """What is wrong with a file or a variable is told as such: broken TOML or JSON, a file that may not be read."""
    try:
        yield
    except PostroomError:
        raise
    except (ValueError, OSError) as error:
        raise ConfigurationError(f"the settings cannot be read: {error}") from error


def reach(database: Database, *, create: bool = False, patience: float = _PATIENCE) -> None:
    """See that the database can be worked with, or say what is wrong with it."""
    if isinstance(database, SqliteDatabase):
        try:
            _find_file(database.path, create=create)
        except PermissionError:
            raise unusable(database.path) from None
    else:
        _knock(database, patience)


def _find_file(path: Path, *, create: bool) -> None:
    if not path.parent.is_dir():
        raise ConfigurationError(f"there is no folder {path.parent} to keep the outbox in; create it, or check the URL")
    if not create and not path.exists():
        raise ConfigurationError(
            f"there is no outbox at {path}; `postroom migrate` creates it, "
            "and --database or POSTROOM_DATABASE names another one"
        )


def _knock(database: PostgresDatabase, patience: float) -> None:
    """Connect once by ourselves: a pool would try for as long as it may and not say what stood in the way."""
    import psycopg

    url = database.url
    limit: dict[str, Any] = {} if "connect_timeout" in url else {"connect_timeout": round(patience)}
    try:
        psycopg.connect(url, **database.session, **limit).close()
    except psycopg.OperationalError as error:
        if "unsupported startup parameter" in str(error):
            raise ConfigurationError(
                f"{masked_url(url)} is a pooler: {_first_line(error)}; "
                "add ?pooler=transaction to the URL if it is PgBouncer in transaction mode"
            ) from error
        raise StoreUnavailable(
            f"the database {masked_url(url)} cannot be reached: {_first_line(error)}; "
            "check that it runs, and --database or POSTROOM_DATABASE"
        ) from error
    except psycopg.ProgrammingError as error:
        raise ConfigurationError(f"the database URL cannot be understood: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]

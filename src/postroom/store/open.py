"""From a database URL to a database."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from postroom.errors import ConfigurationError
from postroom.spelling import nearest
from postroom.store.dialect import Clock
from postroom.store.listening import Listener
from postroom.store.postgres.awaiting import AsyncPostgresDatabase
from postroom.store.postgres.database import PostgresDatabase
from postroom.store.sqlite.awaiting import AsyncSqliteDatabase
from postroom.store.sqlite.database import SqliteDatabase

Database = SqliteDatabase | PostgresDatabase
AsyncDatabase = AsyncSqliteDatabase | AsyncPostgresDatabase

_PLAIN_PATH = re.compile(r"[\w./ -]{1,200}")
_KNOWN = "use sqlite:///file.db or postgresql://user@host/database"


def open_database(
    url: str, *, tables: str = "postroom", clock: Clock | None = None, listeners: tuple[Listener, ...] = ()
) -> Database:
    """The database of a URL, for threads. Nothing is connected yet. Without a clock it goes by the database's own.

    `listeners` hear of every change of state that is made through it.
    """
    match _kind(url):
        case "sqlite":
            return SqliteDatabase(_path(url), prefix=f"{tables}_", clock=clock, listeners=listeners)
        case _:
            libpq, pooled = _libpq(url)
            return PostgresDatabase(libpq, schema=tables, clock=clock, pooled=pooled, listeners=listeners)


def open_async_database(
    url: str, *, tables: str = "postroom", clock: Clock | None = None, listeners: tuple[Listener, ...] = ()
) -> AsyncDatabase:
    """The database of a URL, for event loops. Nothing is connected yet."""
    match _kind(url):
        case "sqlite":
            database = SqliteDatabase(_path(url), prefix=f"{tables}_", clock=clock, listeners=listeners)
            return AsyncSqliteDatabase(database)
        case _:
            libpq, pooled = _libpq(url)
            return AsyncPostgresDatabase(libpq, schema=tables, clock=clock, pooled=pooled, listeners=listeners)


def _kind(url: str) -> str:
    # SQLAlchemy's spelling with a driver is what many people have in their settings.
    scheme = urlsplit(url).scheme.partition("+")[0].lower()
    if scheme == "sqlite":
        return "sqlite"
    if scheme in ("postgres", "postgresql"):
        return "postgres"
    raise ConfigurationError(_unknown(url, scheme))


def _unknown(url: str, scheme: str) -> str:
    """What is wrong with a URL. Of one without a scheme only a plain path is shown, for it may hold a password."""
    if "://" in url:
        meant = nearest(scheme, ("sqlite", "postgresql"))
        return f"no database is known by {scheme}://; {f'did you mean {meant}://? ' if meant else ''}{_KNOWN}"
    if _PLAIN_PATH.fullmatch(url):
        return f"{url!r} is no database URL; as a file it is sqlite:///{url}, and a server is postgresql://user@host/database"
    return f"the database is given by a URL; {_KNOWN}"


def _libpq(url: str) -> tuple[str, bool]:
    """As libpq reads it, and whether a pooler stands between: that option is ours, and taken out."""
    plain, _, query = ("postgresql://" + url.partition("://")[2]).partition("?")
    options = [option for option in query.split("&") if option]
    ours = [option.partition("=")[2] for option in options if option.startswith("pooler=")]
    if any(pooler != "transaction" for pooler in ours):
        raise ConfigurationError(
            f"pooler={ours[-1]} is not known: behind PgBouncer in transaction mode it is pooler=transaction, "
            "in session mode nothing has to be said"
        )
    rest = "&".join(option for option in options if not option.startswith("pooler="))
    return (f"{plain}?{rest}" if rest else plain), bool(ours)


def _path(url: str) -> Path:
    """`sqlite:///relative.db`, `sqlite:////absolute.db`."""
    parts = urlsplit(url)
    path = unquote(parts.path).removeprefix("/")
    if parts.netloc or parts.query or not path or path == ":memory:":
        raise ConfigurationError(
            "an outbox on SQLite needs a file that survives the process: "
            "sqlite:///app.db is relative, sqlite:////var/lib/app/app.db absolute, without options"
        )
    return Path(path)

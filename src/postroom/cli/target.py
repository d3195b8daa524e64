"""Where a command works: which outbox it was told of, and how it reaches it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from postroom.cli.logs import LogFormat, write_logs
from postroom.cli.secrets import keep_secret, masked_url
from postroom.config import Settings, load
from postroom.errors import ConfigurationError, PostroomError, StoreUnavailable
from postroom.operate import Operations
from postroom.outbox import Outbox
from postroom.store.open import Database
from postroom.store.postgres.database import PostgresDatabase
from postroom.store.sqlite.database import SqliteDatabase

_PANEL = "Everywhere"
_PATIENCE = 10
"""Seconds to wait for PostgreSQL to answer."""


class LogLevel(StrEnum):
    """How much to say on standard error."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The options of every command. What is not given comes from the environment, then from `postroom.toml`."""

    database: Annotated[
        str | None,
        typer.Option(
            help="Where emails wait: sqlite:///file or postgresql://…; else POSTROOM_DATABASE.",
            metavar="URL",
            rich_help_panel=_PANEL,
        ),
    ] = None
    tables: Annotated[
        str | None,
        typer.Option(help="The schema or table prefix; else POSTROOM_TABLES.", metavar="NAME", rich_help_panel=_PANEL),
    ] = None
    config: Annotated[
        Path | None,
        typer.Option(
            help="The file of settings; else POSTROOM_CONFIG, else ./postroom.toml.",
            metavar="FILE",
            rich_help_panel=_PANEL,
        ),
    ] = None
    log_level: Annotated[
        LogLevel | None,
        typer.Option(help="What is logged to standard error.", rich_help_panel=_PANEL),
    ] = None
    log_format: Annotated[
        LogFormat | None,
        typer.Option(help="How: text for people, json for programs; text on a terminal.", rich_help_panel=_PANEL),
    ] = None

    def beneath(self, outer: Target | None) -> Target:
        """What was said after the command's name, then what was said before it."""
        if outer is None:
            return self
        said = {field.name: getattr(self, field.name) for field in fields(self)}
        return Target(**{name: getattr(outer, name) if value is None else value for name, value in said.items()})

    def prepare(self, *, quiet: LogLevel = LogLevel.WARNING) -> None:
        """Log as asked, and make the file of settings known: to this process and to those that it starts."""
        write_logs((self.log_level or quiet).value, self.log_format)
        if self.config is not None:
            if not self.config.is_file():
                raise ConfigurationError(f"--config names {self.config}, and there is no such file")
            os.environ["POSTROOM_CONFIG"] = str(self.config)

    def settings(self) -> Settings:
        """The settings in force."""
        with _settings_read():
            return _hidden(load(database=self.database, tables=self.tables))

    @contextmanager
    def outbox(self, *, create: bool = False, **settings: Any) -> Iterator[Outbox]:
        """The outbox, known to be within reach. Unless it is to be created, a file that is not there stays so."""
        with self.unopened(**settings) as outbox:
            reach(outbox.database, create=create)
            yield outbox

    @contextmanager
    def operations(self) -> Iterator[Operations]:
        """The questions and acts of an operator, on an outbox that is within reach."""
        with self.outbox() as outbox:
            yield Operations(outbox)

    def unopened(self, **settings: Any) -> Outbox:
        """The outbox before anything is connected."""
        with _settings_read():
            outbox = Outbox(self.database, tables=self.tables, **settings)
        _hidden(outbox.settings)
        return outbox


def _hidden(settings: Settings) -> Settings:
    """The settings, whose secrets no line of ours shows from now on."""
    keep_secret(*settings.secrets())
    return settings


@contextmanager
def _settings_read() -> Iterator[None]:
    """What is wrong with a file or a variable is told as such: broken TOML or JSON, a file that may not be read."""
    try:
        yield
    except PostroomError:
        raise
    except (ValueError, OSError) as error:
        raise ConfigurationError(f"the settings cannot be read: {error}") from error


def reach(database: Database, *, create: bool = False) -> None:
    """See that the database can be worked with, or say what is wrong with it."""
    if isinstance(database, SqliteDatabase):
        _find_file(database.path, create=create)
    else:
        _knock(database)


def _find_file(path: Path, *, create: bool) -> None:
    if not path.parent.is_dir():
        raise ConfigurationError(f"there is no folder {path.parent} to keep the outbox in; create it, or check the URL")
    if not create and not path.exists():
        raise ConfigurationError(
            f"there is no outbox at {path}; `postroom migrate` creates it, "
            "and --database or POSTROOM_DATABASE names another one"
        )


def _knock(database: PostgresDatabase) -> None:
    """Connect once by ourselves: a pool would try for as long as it may and not say what stood in the way."""
    import psycopg

    url = database.url
    limit: dict[str, Any] = {} if "connect_timeout" in url else {"connect_timeout": _PATIENCE}
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

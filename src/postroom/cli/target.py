"""Where a command works: which outbox it was told of, and how it reaches it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from postroom.cli.secrets import keep_secret
from postroom.errors import ConfigurationError
from postroom.logs import speaking_region

# These options are in every help, which needs nothing of what a command works with: that is imported by the methods.
if TYPE_CHECKING:
    from postroom.config import Settings
    from postroom.operate import Operations
    from postroom.outbox import Outbox

_PANEL = "Everywhere"


class LogLevel(StrEnum):
    """How much to say on standard error."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogFormat(StrEnum):
    """How a line of the log is written."""

    TEXT = "text"
    JSON = "json"


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
    region: Annotated[
        str | None,
        typer.Option(
            help="One of the regions in the settings; else POSTROOM_REGION.",
            metavar="NAME",
            rich_help_panel=_PANEL,
        ),
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
        from postroom.cli.logs import write_logs

        write_logs((self.log_level or quiet).value, self.log_format)
        if self.config is not None:
            if not self.config.is_file():
                raise ConfigurationError(f"--config names {self.config}, and there is no such file")
            os.environ["POSTROOM_CONFIG"] = str(self.config)

    def settings(self, **given: Any) -> Settings:
        """The settings in force, for one outbox: where there are regions, one of them is named."""
        return _hidden(self._read(**given))

    def _read(self, **given: Any) -> Settings:
        from postroom.cli.reaching import settings_read
        from postroom.config import load

        with settings_read():
            settings = load(database=self.database, tables=self.tables, region=self.region, **given)
            settings.check_one_database()
        speaking_region.set(settings.region)
        return settings

    def all_regions(self) -> Settings:
        """The settings that all regions share, with the tables of the regions; there may be none."""
        from postroom.cli.reaching import settings_read
        from postroom.config import load_shared

        with settings_read():
            return _hidden(load_shared(database=self.database, tables=self.tables, region=self.region))

    def names_no_region(self) -> bool:
        """Whether there are regions and none of them was named, and neither was a database."""
        settings = self.all_regions()
        return bool(settings.regions) and not settings.region and "database" not in settings.model_fields_set

    def of_region(self, name: str) -> Target:
        """The same for one region."""
        return replace(self, region=name)

    @contextmanager
    def outbox(self, *, create: bool = False, **settings: Any) -> Iterator[Outbox]:
        """The outbox, known to be within reach. Unless it is to be created, a file that is not there stays so."""
        from postroom.cli.reaching import reach

        with self.unopened(**settings) as outbox:
            reach(outbox.database, create=create)
            yield outbox

    @contextmanager
    def operations(self) -> Iterator[Operations]:
        """The questions and acts of an operator, on an outbox that is within reach."""
        from postroom.operate import Operations

        with self.outbox() as outbox:
            yield Operations(outbox)

    def unopened(self, **settings: Any) -> Outbox:
        """The outbox before anything is connected."""
        from postroom.cli.reaching import settings_read
        from postroom.outbox import Outbox

        found = self._read(**settings)
        with settings_read():
            outbox = Outbox.from_settings(found)
        _hidden(found)  # not before: a URL that is none is told as it was written
        return outbox


def _hidden(settings: Settings) -> Settings:
    """The settings, whose secrets no line of ours shows from now on."""
    keep_secret(*settings.secrets())
    return settings

"""`[regions.NAME]`: what differs from one region to the next. Everything else they share.

What is said of one region comes before what is said of all, wherever each was said: an environment variable for all
regions must not lead the emails of every region into one database. Beneath that the usual order holds: code, the
environment (our names, then those that other deployments have already), the file.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator

from postroom.config.durations import Duration
from postroom.config.names import ALLOWED, is_name
from postroom.config.places import database_place
from postroom.config.public_url import PublicUrl
from postroom.config.routes import RouteTable, check_one_way_out
from postroom.config.secrecy import SecretTexts
from postroom.config.webhooks import EventSettings
from postroom.errors import ConfigurationError
from postroom.spelling import suggestion
from postroom.vocabulary import DEFAULT_ROUTE

if TYPE_CHECKING:
    from postroom.config.settings import Settings

OTHER_NAMES = {
    "SMTP_HOST": "smtp_host",
    "SMTP_PORT": "smtp_port",
    "SMTP_FROM_ADDRESS": "smtp_from_address",
    "SMTP_FROM_NAME": "smtp_from_name",
    "EMAIL_WORKER_ENABLED": "worker_enabled",
    "EMAIL_WORKER_BATCH_SIZE": "worker_batch_size",
    "EMAIL_WORKER_POLL_INTERVAL": "worker_poll_interval",
}
"""Names that many deployments have already; with a region behind two underscores they hold for that region alone."""

_OF_ONE = re.compile(rf"({'|'.join(OTHER_NAMES)})__(.+)", re.IGNORECASE)
_WAYS_OUT = ("smtp", "smtp_host", "smtp_port")
_SENDERS = ("sender", "smtp_from_address", "smtp_from_name")
_QUEUES = ("send_queue", "retry_queue", "dead_queue")


class RegionTable(BaseModel):
    """One `[regions.NAME]` as it is written. What is not in it is as in all regions.

    The database may be missing: a machine of one region knows the others by name, and need not know their passwords.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    database: SecretStr | None = None
    tables: str | None = None
    deployment: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{0,64}$")] | None = None
    delivery: str | None = None
    journal: Path | None = None
    smtp: SecretStr | None = None
    routes: dict[str, RouteTable] = {}
    """By name over those of all regions, field by field."""
    sender: str | None = None
    events: tuple[EventSettings, ...] | None = None
    broker: SecretStr | None = None
    retention: Duration | None = None
    secret: SecretStr | None = None
    previous_secrets: SecretTexts | None = None
    public_url: PublicUrl | None = None
    smtp_host: str | None = None
    smtp_port: int | None = None
    smtp_from_address: str | None = None
    smtp_from_name: str | None = None
    worker_enabled: bool | None = None
    worker_batch_size: int | None = None
    worker_poll_interval: Duration | None = None

    @model_validator(mode="after")
    def _one_way_out(self) -> Self:
        check_one_way_out(self.smtp, self.routes)
        return self

    def without(self, given: Mapping[str, Any]) -> RegionTable:
        """What is left of it where a program has said these itself."""
        dropped = {*given}
        dropped |= {*_WAYS_OUT} if "smtp" in given else set()
        dropped |= {*_SENDERS} if "sender" in given else set()
        said = {name: getattr(self, name) for name in self.model_fields_set - dropped}
        own = given.get("routes") or {}
        routes = {name: table for name, table in self.routes.items() if name not in own}
        if "smtp" in given and DEFAULT_ROUTE in routes:
            routes[DEFAULT_ROUTE] = _without_transport(routes[DEFAULT_ROUTE])
        return RegionTable.model_construct(**(said | {"routes": routes}))


def overlaid(shared: Settings, name: str, table: RegionTable) -> dict[str, Any]:
    """What becomes of the settings of all regions in this one: the fields that differ."""
    apart = (*_WAYS_OUT, *_SENDERS, "routes", "journal")
    changes = {
        field: value
        for field in table.model_fields_set
        if field not in apart and (value := getattr(table, field)) is not None
    }
    changes |= _way_out(shared, table) | _sender(table) | {"region": name, "regions": {}}
    if (journal := journal_of(shared, name, table)) is not None:
        changes["journal"] = journal
    # Messages hold no address, but one region's sender could do nothing with another's: each has queues of its own.
    return changes | {queue: f"{name}.{called}" for queue in _QUEUES if (called := getattr(shared, queue))}


def _way_out(shared: Settings, table: RegionTable) -> dict[str, Any]:
    """`smtp`, `routes.default.transport` and `SMTP_HOST` are three names of one thing, and a region's own counts."""
    routes = {**shared.routes, **{name: _merged(shared.routes.get(name), own) for name, own in table.routes.items()}}
    changes: dict[str, Any] = {}
    own_default = table.routes.get(DEFAULT_ROUTE, RouteTable()).transport
    if own_default is not None:
        changes["smtp"] = None
    elif table.smtp is not None or table.smtp_host is not None:
        changes["smtp"] = table.smtp
        if DEFAULT_ROUTE in routes:
            routes[DEFAULT_ROUTE] = _without_transport(routes[DEFAULT_ROUTE])
    for field in ("smtp_host", "smtp_port"):
        if (value := getattr(table, field)) is not None:
            changes[field] = value
    return changes | {"routes": routes}


def _sender(table: RegionTable) -> dict[str, Any]:
    changes = {name: value for name in _SENDERS if (value := getattr(table, name)) is not None}
    if "smtp_from_address" in changes:
        changes.setdefault("sender", None)
    return changes


def _merged(shared: RouteTable | None, own: RouteTable) -> RouteTable:
    if shared is None:
        return own
    return shared.model_copy(update={field: getattr(own, field) for field in own.model_fields_set})


def _without_transport(table: RouteTable) -> RouteTable:
    return table.model_copy(update={"transport": None})


def journal_of(shared: Settings, name: str, table: RegionTable) -> Path | None:
    """A folder that all regions are given is divided among them; None: one of its own, by the database's address."""
    if table.journal is not None:
        return table.journal
    return None if shared.journal is None else shared.journal / name


def check_known(name: str, known: Collection[str]) -> None:
    """Refuse a region that is none."""
    if name not in known:
        raise ConfigurationError(f"no region is called {name[:60]!r}; {suggestion(name, known)}")


def check_regions(shared: Settings) -> None:
    """Refuse what would let regions into each other: one database for two, or one folder of journals."""
    for name in shared.regions:
        if not is_name(name):
            raise ConfigurationError(f"regions: {name[:60]!r} is no name for a region; {ALLOWED}")
    places = ((name, _database_place(shared, table)) for name, table in shared.regions.items())
    _check_apart(places, "the same database")
    folders = ((name, journal_of(shared, name, table)) for name, table in shared.regions.items())
    _check_apart(((name, folder and folder.resolve()) for name, folder in folders), "the same folder of journals")


def _check_apart(found: Iterator[tuple[str, object]], what: str) -> None:
    seen: dict[object, str] = {}
    for name, place in found:
        if place is None:
            continue
        if place in seen:
            raise ConfigurationError(
                f"regions.{seen[place]} and regions.{name} have {what}; each region needs its own, "
                "for nothing with an address in it may cross"
            )
        seen[place] = name


def _database_place(shared: Settings, table: RegionTable) -> object:
    """Where a region's rows are: two URLs may differ in their passwords and lead to one place."""
    if table.database is None:
        return None
    url, tables = table.database.get_secret_value(), table.tables or shared.tables
    try:
        host, port, path = database_place(url)
    except ValueError:  # told by whoever opens it
        return url, tables
    return host, str(port or 5432), path, tables


def of_one_region(variables: Mapping[str, str], known: Collection[str]) -> dict[str, dict[str, str]]:
    """What the other names say of single regions: `SMTP_HOST__DEU1=…`; nothing where there are no regions."""
    found: dict[str, dict[str, str]] = {}
    spelled = {name.upper(): name for name in known}
    for variable, value in variables.items() if known else ():
        if match := _OF_ONE.fullmatch(variable):
            name = spelled.get(match[2].upper())
            if name is None:
                told = suggestion(match[2].lower(), known)
                raise ConfigurationError(f"{variable}: no region is called {match[2].lower()[:60]!r}; {told}")
            found.setdefault(name, {})[OTHER_NAMES[match[1].upper()]] = value
    return found

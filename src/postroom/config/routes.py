"""`[routes.NAME]`: the named ways out."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeAlias
from urllib.parse import parse_qsl, urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, model_validator

from postroom.compose.return_path import checked_return_address
from postroom.config.names import ALLOWED, is_name
from postroom.errors import ConfigurationError
from postroom.spelling import suggestion
from postroom.vocabulary import DEFAULT_ROUTE

_RATE = re.compile(r"[1-9]\d*/[smhd]", re.ASCII)
_URL = re.compile(r"[a-z][a-z0-9+.-]*:(?://.+|\?.*|)", re.ASCII | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteSettings:
    """A way out that can be used. Its URL, which may hold a password, never shows in `repr`."""

    name: str = ""
    """What emails call it; may be left out where a mapping names it."""
    transport: str = field(repr=False)
    """As it was given: `smtp://user:password@host:587`."""
    rate: str | None = None
    """Emails per unit over all workers, such as `14/s`; None where it stands in the URL, or there is none."""
    connections: int | None = None
    """Connections at the same time; None where it stands in the URL, or the transport decides."""
    fallback: str | None = None
    """The route that takes its emails while it is in trouble."""
    return_address: str | None = None
    """Where its emails come back to, in place of the setting for all."""

    @property
    def url(self) -> str:
        """The transport with rate and connections among its options: all that a transport has to know."""
        given = {"rate": self.rate, "connections": self.connections}
        options = "&".join(f"{name}={value}" for name, value in given.items() if value is not None)
        if not options:
            return self.transport
        return f"{self.transport}{'&' if '?' in self.transport else '?'}{options}"


def _rate(value: str) -> str:
    if not _RATE.fullmatch(value):
        raise ValueError("expected a number per unit such as 14/s, 100/m, 5000/h or 2000/d")
    return value


def _url(value: SecretStr) -> SecretStr:
    if not _URL.fullmatch(value.get_secret_value()):
        raise ValueError("expected a URL such as smtp://user:password@host:587")
    return value


def _return_address(value: str) -> str:
    checked_return_address(value)
    return value


ReturnAddress: TypeAlias = Annotated[str, AfterValidator(_return_address)]
"""An address that emails come back to, with room for a token."""


class RouteTable(BaseModel):
    """One `[routes.NAME]` as it is written; a URL alone stands for a table with that transport.

    The transport may be missing: an application that only enqueues knows the route by its name, and need not know
    the password that its workers have.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    transport: Annotated[SecretStr, AfterValidator(_url)] | None = None
    rate: Annotated[str, AfterValidator(_rate)] | None = None
    connections: Annotated[int, Field(ge=1, le=100_000)] | None = None
    fallback: str | None = None
    return_address: ReturnAddress | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_url(cls, given: Any) -> Any:
        return {"transport": given} if isinstance(given, str | SecretStr) else given


def as_tables(routes: Mapping[str, str | RouteSettings] | None) -> dict[str, dict[str, Any]] | None:
    """Routes as code gives them, in the form of the file, so that one check serves both."""
    if routes is None:
        return None
    return {name: _as_table(name, route) for name, route in routes.items()}


def _as_table(name: str, route: str | RouteSettings) -> dict[str, Any]:
    if isinstance(route, str):
        return {"transport": route}
    if route.name not in ("", name):
        raise ConfigurationError(f"routes.{name}: the route given there calls itself {route.name!r}")
    given = {each: getattr(route, each) for each in RouteTable.model_fields}
    return {each: value for each, value in given.items() if value is not None}


def known_routes(tables: Mapping[str, RouteTable]) -> tuple[str, ...]:
    """The names that emails may use: `default` always, also where only workers know its server."""
    return (DEFAULT_ROUTE, *(name for name in tables if name != DEFAULT_ROUTE))


def usable_routes(tables: Mapping[str, RouteTable], smtp: str | None) -> dict[str, RouteSettings]:
    """The routes that have a transport, the default first; `smtp` is that of the default where its table has none."""
    found = {name: _route(name, tables.get(name, RouteTable()), smtp) for name in known_routes(tables)}
    return {name: route for name, route in found.items() if route is not None}


def _route(name: str, table: RouteTable, smtp: str | None) -> RouteSettings | None:
    transport = table.transport.get_secret_value() if table.transport else smtp if name == DEFAULT_ROUTE else None
    if transport is None:
        return None
    return RouteSettings(
        name=name,
        transport=transport,
        rate=table.rate,
        connections=table.connections,
        fallback=table.fallback,
        return_address=table.return_address,
    )


def check_one_way_out(smtp: object, tables: Mapping[str, RouteTable]) -> None:
    """Refuse two answers to one question, given in the same place."""
    default = tables.get(DEFAULT_ROUTE)
    if smtp is not None and default is not None and default.transport is not None:
        raise ConfigurationError(
            "smtp and routes.default.transport are both given, and are the same thing; keep one of them"
        )


def check_routes(tables: Mapping[str, RouteTable], *, smtp: str | None) -> None:
    """Refuse what cannot be meant. Two routes that fall back on each other can: a fallback is used while it is well."""
    known = known_routes(tables)
    for name, table in tables.items():
        if not is_name(name):
            raise ConfigurationError(f"routes: {name[:60]!r} is no name for a route; {ALLOWED}")
        if table.fallback == name:
            raise ConfigurationError(f"routes.{name}: its fallback is the route itself; name another one")
        if table.fallback is not None:
            check_name(f"routes.{name}.fallback", table.fallback, known)
    for route in usable_routes(tables, smtp).values():
        _check_options(route)


def check_name(setting: str, name: str, known: Collection[str]) -> None:
    """Refuse the name of a route that is none."""
    if name not in known:
        raise ConfigurationError(f"{setting}: no route is called {name!r}; {suggestion(name, known)}")


def _check_options(route: RouteSettings) -> None:
    try:
        in_url = {name for name, _ in parse_qsl(urlsplit(route.transport).query, keep_blank_values=True)}
    except ValueError:
        return  # a URL that cannot be read is told of by whoever has to
    for name in ("rate", "connections"):
        if name in in_url and getattr(route, name) is not None:
            raise ConfigurationError(f"routes.{route.name}.{name}: its URL has a {name} too; keep one of them")

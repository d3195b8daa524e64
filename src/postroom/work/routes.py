"""The ways out that the settings name, made ready to be used."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from postroom.channels import transport_for
from postroom.claim.route import Route
from postroom.config import RouteSettings, Settings
from postroom.errors import ConfigurationError


def routes_of(settings: Settings, *, only: Collection[str] = ()) -> list[Route]:
    """Every route of the settings, or those that are named; an error that says what to do where there is none.

    To be called in the process that is to use them.
    """
    known = settings.all_routes()
    if not known:
        raise ConfigurationError("no way out is known; set POSTROOM_SMTP or give --smtp smtp://host:port")
    if unknown := [name for name in only if name not in known]:
        names = ", ".join(known)
        raise ConfigurationError(f"no route that can be used here is called {unknown[0]!r}; those that can: {names}")
    beside = settings.beside_transports()
    return [_route(route, beside) for name, route in known.items() if not only or name in only]


def _route(route: RouteSettings, beside: Mapping[str, Any]) -> Route:
    channel, transport = transport_for(route.url, beside)
    return Route(name=route.name, channel=channel, transport=transport, fallback=route.fallback)

"""The ways out that the settings name, made ready to be used."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from postroom.channels import channels, transport_for
from postroom.channels.email import EMAIL, returning_to
from postroom.claim.route import Route
from postroom.compose.return_path import ReturnPath
from postroom.config import RouteSettings, Settings
from postroom.errors import ConfigurationError
from postroom.send.delivery_mode import DeliveryMode, Mode
from postroom.send.guarded import GuardedTransport
from postroom.settle.captured import apart
from postroom.vocabulary import DEFAULT_ROUTE


def routes_of(settings: Settings, *, only: Collection[str] = (), always: bool = False) -> list[Route]:
    """Every route of the settings, or those that are named; an error that says what to do where there is none, or
    where nobody can read who is to get what leaves by them.

    With `always`, as workers have it, also those that need no settings: webhooks leave wherever a worker is.
    To be called in the process that is to use them.
    """
    delivery = DeliveryMode.parse(settings.delivery)
    known = settings.all_routes() or _leading_nowhere(delivery)
    if not known:
        raise ConfigurationError("no way out is known; set POSTROOM_SMTP or give --smtp smtp://host:port")
    if always:
        known = {**_unasked(), **known}
    if unknown := [name for name in only if name not in known]:
        names = ", ".join(known)
        raise ConfigurationError(f"no route that can be used here is called {unknown[0]!r}; those that can: {names}")
    tables, named = settings.channel_tables(), settings.all_routes()
    return [
        guarded(
            returning(_route(route, tables, unasked=name not in named), settings.return_path(route.return_address)),
            delivery,
        )
        for name, route in known.items()
        if not only or name in only
    ]


def returning(route: Route, path: ReturnPath | None) -> Route:
    """The same route for emails that come back to addresses of their own; without such a path, the very same."""
    if path is None or route.channel.name != EMAIL.name:
        return route
    return replace(route, channel=replace(route.channel, prepare=returning_to(path)))


def guarded(route: Route, delivery: DeliveryMode) -> Route:
    """The same route under a delivery mode; without one, the very same."""
    if delivery.mode is Mode.DELIVER:
        return route
    channel, email = route.channel, route.channel.name == EMAIL.name
    if email and delivery.mode is Mode.ONLY:
        channel = replace(channel, classify=apart(channel.classify))
    return replace(route, channel=channel, transport=GuardedTransport(route.transport, delivery, email=email))


def _leading_nowhere(delivery: DeliveryMode) -> dict[str, RouteSettings]:
    """Where everything is captured nobody has to name a server: a default route, which no connection is made for."""
    if delivery.mode is not Mode.CAPTURE:
        return {}
    return {DEFAULT_ROUTE: RouteSettings(name=DEFAULT_ROUTE, transport="smtp://nowhere.invalid")}


def _unasked() -> dict[str, RouteSettings]:
    """The routes of channels that need no settings, as far as what they are made with is installed."""
    found: dict[str, RouteSettings] = {}
    for channel in channels().values():
        if channel.always is not None:
            with suppress(ConfigurationError):
                transport_for(channel.always)
                found[channel.route] = RouteSettings(name=channel.route, transport=channel.always)
    return found


def _route(route: RouteSettings, tables: Mapping[str, Mapping[str, Any]], *, unasked: bool) -> Route:
    channel, transport = transport_for(route.url, tables=tables)
    return Route(name=route.name, channel=channel, transport=transport, fallback=route.fallback, unasked=unasked)

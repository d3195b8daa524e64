"""Which channels there are: ours and those of other packages, found by their entry points."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from postroom.channels.contract import Channel
from postroom.channels.email import EMAIL
from postroom.errors import ConfigurationError
from postroom.send.contract import Transport

GROUP = "postroom.channels"


@cache
def channels() -> Mapping[str, Channel]:
    """Every channel that is installed here, by name."""
    from importlib.metadata import entry_points  # as long as the rest of an import, and most need no other channel

    found: dict[str, Channel] = {entry.name: entry.load() for entry in entry_points(group=GROUP)}
    return {EMAIL.name: EMAIL, **found}


@cache
def channel_named(name: str) -> Channel:
    """A channel by its name; `ConfigurationError` where it is not installed."""
    if name == EMAIL.name:  # most processes need no other, and looking for them takes a moment
        return EMAIL
    try:
        return channels()[name]
    except KeyError:
        known = ", ".join(sorted(channels()))
        raise ConfigurationError(
            f"no channel is called {name!r} here; installed are {known}; install the package that brings it"
        ) from None


@cache
def channel_of(payload: type) -> Channel | None:
    """The channel that carries this type; None if there is none."""
    if issubclass(payload, EMAIL.payload):
        return EMAIL
    return next((each for each in channels().values() if issubclass(payload, each.payload)), None)


def channel_by(url: str) -> Channel:
    """The channel that a transport's URL is for."""
    scheme = _scheme(url)
    return EMAIL if scheme in EMAIL.transports else _with_scheme(scheme)


def transport_for(
    url: str, given: Mapping[str, Any] | None = None, *, tables: Mapping[str, Mapping[str, Any]] | None = None
) -> tuple[Channel, Transport]:
    """The way out that a URL names, and the channel it is for. `given`: see `Channel.transports`.

    `tables` are those of the settings for channels, by name; a transport is told its own.
    """
    channel = channel_by(url)
    beside = {**(tables or {}).get(channel.name, {}), **(given or {})}
    return channel, channel.transports[_scheme(url)](url, beside)


def _scheme(url: str) -> str:
    return url.partition(":")[0].lower()


def _with_scheme(scheme: str) -> Channel:
    for channel in channels().values():
        if scheme in channel.transports:
            return channel
    known = ", ".join(f"{scheme}:" for channel in channels().values() for scheme in channel.transports)
    raise ConfigurationError(f"no way out is made of a URL that begins with {scheme[:20]!r}; known are {known}")

"""How long each part of a request may take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from postroom.duration import parse_duration
from postroom.errors import ConfigurationError

MOST_CONNECTIONS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Seconds to wait. Each is a total, so that an end which drips bytes gains nothing."""

    connect: float = 10.0
    """For name resolution and TCP."""
    tls: float = 10.0
    """For the handshake."""
    write: float = 30.0
    """For the other end to take in the request."""
    answer: float = 30.0
    """From the end of the request to the end of what is read of the answer. Giving up early makes doubt."""
    total: float = 60.0
    """For all of it."""


_NAMES = tuple(field.name for field in fields(Limits))


def take_limits(options: dict[str, str], kind: str) -> Limits:
    """The limits among a URL's options, which are taken out of them."""
    return Limits(**{name: _seconds(kind, name, options.pop(name)) for name in _NAMES if name in options})


def take_connections(options: dict[str, str], given: Mapping[str, Any], kind: str, usual: int) -> int:
    """How many lines, from the URL or from beside it."""
    said = _one_of("connections", options, given, kind)
    if said is None:
        return usual
    if not str(said).isascii() or not str(said).isdigit() or not 1 <= int(said) <= MOST_CONNECTIONS:
        raise ConfigurationError(f"{kind}: connections: expected a number from 1 to {MOST_CONNECTIONS}, got {said!r}")
    return int(said)


def take_rate(options: dict[str, str], given: Mapping[str, Any], kind: str) -> str | None:
    """How many in a period, such as `14/s`."""
    said = _one_of("rate", options, given, kind)
    return None if said is None else str(said)


def refuse_unknown(options: Mapping[str, str], kind: str, known: tuple[str, ...]) -> None:
    """Nothing may be left over."""
    if options:
        names = ", ".join(sorted({*known, *_NAMES, "connections", "rate"}))
        raise ConfigurationError(f"{kind}: unknown option {next(iter(options))!r}; the options are {names}")


def _one_of(name: str, options: dict[str, str], given: Mapping[str, Any], kind: str) -> Any:
    in_url, beside = options.pop(name, None), given.get(name)
    if in_url is not None and beside is not None:
        raise ConfigurationError(f"{kind}: {name} stands in the URL and beside it; keep one of them")
    return beside if in_url is None else in_url


def _seconds(kind: str, name: str, text: str) -> float:
    try:
        seconds = parse_duration(text).total_seconds()
    except ConfigurationError as error:
        raise ConfigurationError(f"{kind}: {name}: {error}") from None
    if seconds <= 0:
        raise ConfigurationError(f"{kind}: {name}: expected longer than nothing, got {text[:60]!r}")
    return seconds

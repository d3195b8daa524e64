"""Lengths of time as people write them in settings: `500ms`, `3s`, `5m`, `2h`, `1d`, and sums such as `1h30m`.

What `format_duration` writes, `parse_duration` reads back to the same value, to the microsecond.
"""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal

from postroom.errors import ConfigurationError

Duration = str | int | float | timedelta
"""Whatever may stand for a length of time: text with units, or a number of seconds."""

_MICROSECONDS = {"d": 86_400_000_000, "h": 3_600_000_000, "m": 60_000_000, "s": 1_000_000, "ms": 1_000}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|d|h|m|s)", re.ASCII)
_WHOLE = re.compile(rf"(?:{_PART.pattern})+", re.ASCII)
_BARE = re.compile(r"\d+(?:\.\d+)?", re.ASCII)
_LONGEST_TEXT = 40


def parse_duration(value: Duration) -> timedelta:
    """Read a length of time; a bare number means seconds. The result is never negative."""
    try:
        duration = value if isinstance(value, timedelta) else _read(value)
    except (OverflowError, TypeError, ValueError):
        raise _unreadable(value) from None
    if duration < timedelta(0):
        raise _unreadable(value)
    return duration


def format_duration(duration: timedelta) -> str:
    """Write a length of time in the largest units that fit: `90 s` becomes `1m30s`."""
    rest = duration // timedelta(microseconds=1)
    parts = []
    for unit in ("d", "h", "m", "s"):
        count, rest = divmod(rest, _MICROSECONDS[unit])
        if count:
            parts.append(f"{count}{unit}")
    if rest:
        parts.append(f"{Decimal(rest) / 1000:f}ms")
    return "".join(parts) or "0s"


def _read(value: str | float) -> timedelta:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TypeError
    if not isinstance(value, str):
        return timedelta(seconds=value)
    text = value.strip().lower()
    if len(text) > _LONGEST_TEXT:
        raise ValueError
    if _BARE.fullmatch(text):
        return timedelta(microseconds=round(Decimal(text) * _MICROSECONDS["s"]))
    if not _WHOLE.fullmatch(text):
        raise ValueError
    return timedelta(microseconds=sum(round(Decimal(n) * _MICROSECONDS[unit]) for n, unit in _PART.findall(text)))


def _unreadable(value: object) -> ConfigurationError:
    shown = repr(value)[:60]
    return ConfigurationError(
        f"{shown} is not a length of time; write a number and a unit, such as 500ms, 3s, 5m, 2h, 1d or 1h30m"
    )

"""Times as people write and read them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from postroom.duration import parse_duration
from postroom.errors import ConfigurationError

_BARE = re.compile(r"[0-9]+(\.[0-9]+)?")
_UNITS = ((timedelta(days=1), "d"), (timedelta(hours=1), "h"), (timedelta(minutes=1), "m"), (timedelta(seconds=1), "s"))


def past_moment(option: str, text: str | None, *, now: datetime) -> datetime | None:
    """`2h` is two hours ago; a date and time is that one."""
    return None if text is None else _moment(option, text, now=now, direction=-1)


def coming_moment(option: str, text: str | None, *, now: datetime) -> datetime | None:
    """`2h` is in two hours; a date and time is that one."""
    return None if text is None else _moment(option, text, now=now, direction=1)


def relative(instant: datetime | None, *, now: datetime) -> str:
    """`5 m ago`, `in 2 h`, in the largest unit that fits; empty for no time."""
    if instant is None:
        return ""
    away = timedelta(seconds=round(abs(instant - now).total_seconds()))
    for unit, letter in _UNITS:
        if away >= unit:
            count = away // unit
            return f"in {count} {letter}" if instant > now else f"{count} {letter} ago"
    return "now"


def exact(instant: datetime) -> str:
    """To the second, in UTC."""
    return instant.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _moment(option: str, text: str, *, now: datetime, direction: int) -> datetime:
    try:
        # A time without a zone is the time on the wall of whoever types it.
        return datetime.fromisoformat(text).astimezone(UTC)
    except ValueError:
        pass
    if _BARE.fullmatch(text.strip()):  # settings take it for seconds, and whoever types it has days in mind, or a year
        raise ConfigurationError(
            f"{option}: {text!r} has no unit; write {text.strip()}d for days, or 30m, 2h, 2026-05-17"
        )
    try:
        return now + direction * parse_duration(text)
    except (ConfigurationError, OverflowError):
        raise ConfigurationError(
            f"{option}: {text!r} is no time; write 2026-05-17, 2026-05-17T09:30, 2026-05-17T09:30+02:00, "
            "or a length of time such as 30m, 2h, 7d"
        ) from None

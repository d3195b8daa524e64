"""Counts and times as people say them."""

from __future__ import annotations

from datetime import datetime, timedelta

from postroom.store.contract import StoredEmail

_UNITS = (
    ("day", timedelta(days=1)),
    ("hour", timedelta(hours=1)),
    ("minute", timedelta(minutes=1)),
    ("second", timedelta(seconds=1)),
)


def count_of(count: int, noun: str) -> str:
    """`1 email`, `1,204 emails`, `2 processes`."""
    ending = "es" if noun.endswith("s") else "s"
    return f"{count:,} {noun}{'' if count == 1 else ending}"


def counted_emails(count: int, *, capped: bool = False) -> str:
    """`1 email`, `1,204 emails`; `10,000 or more emails` where nobody counted further."""
    return f"{count:,} or more emails" if capped else count_of(count, "email")


def refused_of(email: StoredEmail) -> str:
    """`1 of 3 refused`, said of an email that was sent, though not to everybody; else nothing."""
    return f"{email.refused_recipients:,} of {len(email.recipients):,} refused" if email.partly else ""


def span(length: timedelta) -> str:
    """A length of time in its largest unit: `3 minutes`, `1 day`."""
    for name, unit in _UNITS:
        if length >= unit:
            return count_of(length // unit, name)
    return "less than a second"


def clock_time(at: datetime, now: datetime) -> str:
    """`02:14 UTC`, with the day when it is not today."""
    return f"{at:%H:%M} UTC" if at.date() == now.date() else f"{at:%-d %B %Y, %H:%M} UTC"


def from_now(at: datetime, now: datetime) -> str:
    """`in 5 minutes (14:05 UTC)`; `now` when it has come."""
    return f"in {span(at - now)} ({clock_time(at, now)})" if at > now else "now"


def ago(at: datetime, now: datetime) -> str:
    """`5 minutes ago (14:05 UTC)`."""
    return f"{span(max(now - at, timedelta(0)))} ago ({clock_time(at, now)})"

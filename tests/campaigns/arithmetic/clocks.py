"""The clocks of the world, and two other ways to find out when they first show a time."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from hypothesis import strategies as st
from whenever import Instant, RepeatedTime, SkippedTime, ZonedDateTime

ZONES = sorted(available_timezones() - {"localtime", "Factory"})
ODD_ZONES = [
    "Africa/Cairo",  # back at midnight
    "Africa/Casablanca",  # four changes in a year
    "America/Havana",  # forward at midnight, back to it
    "America/Nuuk",  # forward from 23:00 to midnight
    "America/St_Johns",  # at 00:01, and back over midnight
    "Antarctica/Troll",  # by two hours
    "Asia/Beirut",  # back from midnight to 23:00
    "Asia/Kathmandu",  # a quarter past
    "Asia/Pyongyang",  # by half an hour, at 23:30
    "Australia/Lord_Howe",  # by half an hour
    "Pacific/Apia",  # a whole day is missing
    "Pacific/Chatham",  # at a quarter to three
    "Pacific/Kwajalein",
]
FIRST, LAST = date(2000, 1, 1), date(2037, 12, 31)


@cache
def changes(zone: str) -> tuple[date, ...]:
    """The dates around which this clock changes."""
    found = []
    moment = Instant.from_utc(FIRST.year, 1, 1).to_tz(zone).next_transition()
    while moment is not None and moment.year <= LAST.year:
        found.append(date(moment.year, moment.month, moment.day))
        moment = moment.next_transition()
    return tuple(found)


zones = st.sampled_from(ZONES) | st.sampled_from(ODD_ZONES)


@st.composite
def days(draw: st.DrawFn, zone: str) -> date:
    """Any day, and often one on which the clock changes, or its neighbour."""
    near = [each for each in changes(zone) if each - timedelta(days=3) >= FIRST and each + timedelta(days=3) <= LAST]
    if near and draw(st.booleans()):
        return draw(st.sampled_from(near)) + timedelta(days=draw(st.integers(-2, 2)))
    return draw(st.dates(FIRST, LAST))


def shown(day: date, hour: int) -> datetime:
    """What a clock shows so many hours after the midnight at which this date begins."""
    return datetime.combine(day, time()) + timedelta(hours=hour)


def first_shown(zone: ZoneInfo, wanted: datetime) -> datetime:
    """By looking at the clock minute for minute."""
    begin = wanted.replace(tzinfo=UTC) - timedelta(hours=30)
    instants = (begin + timedelta(minutes=minute) for minute in range(60 * 60))
    return next(each for each in instants if each.astimezone(zone).replace(tzinfo=None) >= wanted)


def first_shown_by_whenever(zone: str, wanted: datetime) -> datetime:
    fields = (wanted.year, wanted.month, wanted.day, wanted.hour)
    try:
        found = ZonedDateTime(*fields, tz=zone, disambiguation="raise")
    except RepeatedTime:
        found = ZonedDateTime(*fields, tz=zone, disambiguation="earlier")
    except SkippedTime:
        change = ZonedDateTime(*fields, tz=zone, disambiguation="earlier").next_transition()
        assert change is not None
        found = change
    return found.to_instant().to_stdlib()


def over_by_whenever(zone: str, midnight: datetime) -> datetime:
    """From when on the date before this midnight is not shown any more."""
    fields = (midnight.year, midnight.month, midnight.day)
    again = ZonedDateTime(*fields, tz=zone, disambiguation="later").to_instant()
    if again.subtract(seconds=1).to_tz(zone).to_plain().to_stdlib() < midnight:
        return again.to_stdlib()
    return first_shown_by_whenever(zone, midnight)

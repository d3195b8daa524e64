"""VTIMEZONE: a calendar's own account of its clock, for readers that do not know the zone by name.

icalendar can write one, but dates the start of daylight saving by the clock that is already put forward, which moves
the change by an hour; RFC 5545 (3.6.5) wants the clock that was still running. So the changes are found here.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

if TYPE_CHECKING:
    from icalendar import Timezone, TimezoneDaylight, TimezoneStandard

_DAY = timedelta(days=1)
_SECOND = timedelta(seconds=1)


@lru_cache(maxsize=256)
def timezone_component(key: str, first_year: int, last_year: int) -> Timezone:
    """The zone's rules for these years, the first and the last included."""
    from icalendar import Timezone

    zone = ZoneInfo(key)
    component = Timezone()
    component.add("tzid", key)
    start = datetime(first_year, 1, 1, tzinfo=zone).astimezone(UTC)
    # The clock that runs at the beginning; it has no change to be dated by.
    component.add_component(_observance([start], zone, before=start))
    groups: dict[tuple[object, ...], list[datetime]] = {}
    for change in _changes(zone, start, datetime(last_year + 1, 1, 1, tzinfo=UTC)):
        groups.setdefault((_offset(zone, change - _SECOND), *_clock(zone, change)), []).append(change)
    for changes in groups.values():
        component.add_component(_observance(changes, zone, before=changes[0] - _SECOND))
    return component


def _observance(onsets: list[datetime], zone: ZoneInfo, *, before: datetime) -> TimezoneDaylight | TimezoneStandard:
    """One kind of time, when it begins, and what the clock said then."""
    from icalendar import TimezoneDaylight, TimezoneStandard

    offset_before = _offset(zone, before)
    offset, name, summer = _clock(zone, onsets[0])
    component = TimezoneDaylight() if summer else TimezoneStandard()
    local = [(onset + offset_before).replace(tzinfo=None) for onset in onsets]
    component.add("dtstart", local[0])
    for later in local[1:]:
        component.add("rdate", later)
    component.add("tzoffsetfrom", offset_before)
    component.add("tzoffsetto", offset)
    component.add("tzname", name)
    return component


def _changes(zone: ZoneInfo, start: datetime, end: datetime) -> list[datetime]:
    """The moments, in UTC, from which on the zone's clock runs differently."""
    found = []
    while start < end:
        if _clock(zone, start) != _clock(zone, start + _DAY):
            found.append(_first_after(zone, start, start + _DAY))
        start += _DAY
    return found


def _first_after(zone: ZoneInfo, low: datetime, high: datetime) -> datetime:
    while high - low > _SECOND:
        middle = low + (high - low) // 2
        middle = middle.replace(microsecond=0)
        low, high = (middle, high) if _clock(zone, middle) == _clock(zone, low) else (low, middle)
    return high


def _clock(zone: ZoneInfo, moment: datetime) -> tuple[timedelta, str, bool]:
    local = moment.astimezone(zone)
    return _offset(zone, moment), local.tzname() or zone.key, bool(local.dst())


def _offset(zone: ZoneInfo, moment: datetime) -> timedelta:
    return moment.astimezone(zone).utcoffset() or timedelta(0)

"""When windows are open, in UTC, on any clock of the world.

A window opens, and closes, at the first instant at which its clock shows the hour of that date or a later time. From
this one sentence follows what the two changes of a year do to it:

- An hour that is missing opens (closes) at the change that skips it. A window that lies in it is empty: a closed day.
- An hour that comes twice is open both times, for its end is first shown after the second time.
- Windows never overlap, though they may touch: a later time of the clock is never first shown earlier. So every
  instant belongs to at most one window day.

Some clocks have gone back over midnight (St. John's, from 00:01 to 23:01): there a new date begins, is left again
for an hour and comes back. By the same sentence its windows count from when it was first shown, and what was open
until midnight closed then. Only holidays look closer, because at no instant of theirs mail may leave: what opens after
one opens when it is over for good.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from postroom.campaigns.arithmetic.settings import SendingSettings, check_settings
from postroom.campaigns.checks import refuse
from postroom.errors import InvalidCampaign

_HOUR = timedelta(hours=1)
_SECOND = timedelta(seconds=1)
_LAST_DATE = date.max.toordinal()


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """A day with its window."""

    day: date
    """The window day: the date on which the window opens."""
    open: datetime
    close: datetime
    """The first instant that is no longer in it."""


def window(settings: SendingSettings, day: date) -> tuple[datetime, datetime] | None:
    """When the window of this day opens, and the first instant at which it is closed again, in UTC; None if it is not.

    At either end of the calendar, a window that a datetime cannot tell is none.
    """
    check_settings(settings)
    if isinstance(day, datetime):
        raise InvalidCampaign("day", "expected a date, got a datetime", "give window_day_at(settings, instant)")
    if not isinstance(day, date):
        refuse("day", "a date", day, "give one such as date(2026, 3, 9)")
    if day.weekday() not in settings.weekdays or day in settings.closed_dates:
        return None
    try:
        opens, closes = _bounds(settings, day)
    except OverflowError:
        return None
    return (opens.replace(tzinfo=UTC), closes.replace(tzinfo=UTC)) if opens < closes else None


def openings(settings: SendingSettings, first: date) -> Iterator[Opening]:
    """The open days from this date on, as far as the calendar goes.

    Each is found soon. Within n weeks a sending day comes n times; holidays close one of these each, and a clock that
    swallows a window must go back before it can swallow one again, which no clock does more than a few times a year.
    So with h holidays one of 2h + 54 weeks has an open day, unless the calendar ends before.
    """
    for ordinal in range(first.toordinal(), _LAST_DATE + 1):
        day = date.fromordinal(ordinal)
        if found := window(settings, day):
            yield Opening(day=day, open=found[0], close=found[1])


def openings_after(settings: SendingSettings, instant: datetime) -> Iterator[Opening]:
    """The window that is open at this instant, if one is, and all later ones."""
    return (each for each in openings(settings, _neighbours(settings, instant)[0]) if each.close > instant)


def next_open(settings: SendingSettings, instant: datetime) -> datetime | None:
    """The first instant at or after this one at which a window is open, in UTC; None where the calendar ends before."""
    check_settings(settings)
    instant = in_utc("instant", instant)
    found = next(openings_after(settings, instant), None)
    return None if found is None else max(found.open, instant)


def window_at(settings: SendingSettings, instant: datetime) -> Opening | None:
    """The window that is open at this instant, with the day whose quota a mail then counts against."""
    check_settings(settings)
    instant = in_utc("instant", instant)
    for day in _neighbours(settings, instant):
        found = window(settings, day)
        if found and found[0] <= instant < found[1]:
            return Opening(day=day, open=found[0], close=found[1])
    return None


def window_day_at(settings: SendingSettings, instant: datetime) -> date | None:
    """The day to whose window this instant belongs: the day before, after midnight; None where no window is open."""
    found = window_at(settings, instant)
    return None if found is None else found.day


def local_date(settings: SendingSettings, instant: datetime) -> date:
    """What the calendar on the wall shows at this instant."""
    try:
        return instant.astimezone(settings.zone).date()
    except OverflowError:  # within a day of either end of the calendar
        return instant.date()


def in_utc(name: str, instant: datetime) -> datetime:
    """The same instant in UTC; one without a zone is refused, for it is none."""
    if not isinstance(instant, datetime):
        refuse(name, "an instant", instant, "give an aware datetime, such as datetime.now(UTC)")
    if instant.utcoffset() is None:
        raise InvalidCampaign(name, "is a time without a zone", "give an aware one, such as datetime.now(UTC)")
    try:
        return instant.astimezone(UTC)
    except OverflowError:
        remedy = "give an instant between the years 1 and 9999 in UTC"
        raise InvalidCampaign(name, "lies beyond either end of the calendar in UTC", remedy) from None


def _neighbours(settings: SendingSettings, instant: datetime) -> list[date]:
    """The days to whose windows this instant can belong.

    The day before, for windows over midnight; and the day after, whose window may have opened before the clock went
    back over midnight.
    """
    today = local_date(settings, instant).toordinal()
    return [date.fromordinal(each) for each in range(max(1, today - 1), min(_LAST_DATE, today + 1) + 1)]


def _bounds(settings: SendingSettings, day: date) -> tuple[datetime, datetime]:
    """Both ends of the day's window, without a zone and in UTC; not in this order where it is empty."""
    zone, midnight = settings.zone, datetime(day.year, day.month, day.day)  # noqa: DTZ001  a clock's time, not an instant
    opens = _first_at_or_past(zone, midnight + settings.start_hour * _HOUR)
    closes = _first_at_or_past(zone, midnight + settings.last_hour * _HOUR)
    if settings.closed_dates:
        if day > date.min and day - timedelta(days=1) in settings.closed_dates:
            opens = max(opens, _over_for_good(zone, midnight))
        if settings.last_hour > 24 and day + timedelta(days=1) in settings.closed_dates:
            closes = min(closes, _first_at_or_past(zone, midnight + 24 * _HOUR))
    return opens, closes


def _first_at_or_past(zone: ZoneInfo, shown: datetime) -> datetime:
    """The first instant, in UTC, at which the clock shows this time or a later one."""
    before, after = _offsets(zone, shown)
    if before >= after:  # it is shown once; or twice, and this is the first time
        return shown - before
    return _change(zone, shown - after, shown - before)


def _change(zone: ZoneInfo, early: datetime, late: datetime) -> datetime:
    """The first instant of the clock's later offset, of two between which it changes once."""
    offset = _offset_at(zone, late)
    while late - early > _SECOND:
        middle = early + (late - early) // 2
        middle -= timedelta(microseconds=middle.microsecond)
        early, late = (early, middle) if _offset_at(zone, middle) == offset else (middle, late)
    return late


def _over_for_good(zone: ZoneInfo, midnight: datetime) -> datetime:
    """The instant from which on the date before this midnight is not shown any more."""
    before, after = _offsets(zone, midnight)
    again = midnight - after
    just_before = again - _SECOND
    returned = before > after and just_before + _offset_at(zone, just_before) < midnight
    return again if returned else _first_at_or_past(zone, midnight)


def _offsets(zone: ZoneInfo, shown: datetime) -> tuple[timedelta, timedelta]:
    """The clock's distance from UTC before and after the change that skips or repeats this time; else twice one."""
    return _distance(shown.replace(tzinfo=zone)), _distance(shown.replace(tzinfo=zone, fold=1))


def _offset_at(zone: ZoneInfo, instant: datetime) -> timedelta:
    return _distance(instant.replace(tzinfo=UTC).astimezone(zone))


def _distance(local: datetime) -> timedelta:
    return local.utcoffset() or timedelta(0)

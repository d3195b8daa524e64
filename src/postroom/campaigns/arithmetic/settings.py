"""When a workspace may send: days, hours, clock, quota, ramp-up, holidays and gap, checked when they are made."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from postroom.campaigns.checks import listed, refuse, shown, text_of, whole
from postroom.errors import InvalidCampaign
from postroom.spelling import ALIKE, nearest, suggestion

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
"""The days of the week as settings name them, in the order of `date.weekday()`."""

LONGEST_GAP = 86_400
"""Seconds. Who wants mails further apart than a day wants a quota of 1."""

_OF_WINDOWS = {
    "gmt": "Europe/London",
    "w._europe": "Europe/Berlin",
    "romance": "Europe/Paris",
    "central_europe": "Europe/Budapest",
    "central_european": "Europe/Warsaw",
    "fle": "Europe/Kyiv",
    "eastern": "America/New_York",
    "central": "America/Chicago",
    "mountain": "America/Denver",
    "pacific": "America/Los_Angeles",
    "india": "Asia/Kolkata",
    "china": "Asia/Shanghai",
    "tokyo": "Asia/Tokyo",
    "aus_eastern": "Australia/Sydney",
}
"""Clocks that Windows calls otherwise, as in `W. Europe Standard Time`: those that most people live by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RampUp:
    """How a new sender warms up: so many mails on its first day of sending, so many on its second …

    A step of 0 is taken as it is said: nothing leaves on that day, and as days without mail do not count, none follows.
    """

    schedule: tuple[int, ...]
    """The allowance of ramp day 1, 2, 3 …; after its end the daily quota holds, with an empty one from the start."""

    def __post_init__(self) -> None:
        steps = listed("ramp_up.schedule", self.schedule, "numbers of mails, such as (20, 30, 40)")
        allowances = tuple(whole("ramp_up.schedule", step, least=0) for step in steps)
        object.__setattr__(self, "schedule", allowances)


@dataclass(frozen=True, slots=True, kw_only=True)
class SendingSettings:
    """When mail of campaigns may leave, and how much of it. What cannot be meant is refused here, by field.

    A window is open from `start_hour` until `end_hour` on the clock of `timezone`, over midnight where the end is the
    smaller, and belongs to the day on which it opens.
    """

    sending_days: tuple[str, ...] = DAYS[:5]
    """The days on which windows open; any iterable is taken, and kept in the order of the week."""
    start_hour: int = 9
    """0 to 23."""
    end_hour: int = 17
    """0 to 24; 0 is the midnight at which the day ends, as 24 is."""
    timezone: str = "UTC"
    """The IANA name of the clock, such as `Europe/Berlin`."""
    daily_quota: int = 50
    """Mails per window day, those of all campaigns together. 0 sends nothing."""
    ramp_up: RampUp | None = None
    """Lower allowances for the first days of sending."""
    holidays: tuple[date, ...] = ()
    """Dates on that clock at no instant of which mail leaves; any iterable is taken, and kept in order."""
    gap_seconds: tuple[int, int] = (30, 90)
    """The least and the most seconds between two mails; chance chooses. With (0, 0) one still follows the other, by a
    microsecond."""

    zone: ZoneInfo = field(init=False, repr=False, compare=False)
    """The clock itself."""
    weekdays: frozenset[int] = field(init=False, repr=False, compare=False)
    """`sending_days` as `date.weekday()` numbers them."""
    closed_dates: frozenset[date] = field(init=False, repr=False, compare=False)
    """`holidays`, to be looked up."""

    def __post_init__(self) -> None:
        settle = object.__setattr__
        settle(self, "sending_days", _days(self.sending_days))
        settle(self, "zone", known_zone(self.timezone))
        settle(self, "holidays", _dates(self.holidays))
        settle(self, "gap_seconds", _gap(self.gap_seconds))
        settle(self, "weekdays", frozenset(map(DAYS.index, self.sending_days)))
        settle(self, "closed_dates", frozenset(self.holidays))
        _check_hours(self.start_hour, self.end_hour)
        whole("daily_quota", self.daily_quota, least=0)
        if self.ramp_up is not None and not isinstance(self.ramp_up, RampUp):
            refuse("ramp_up", "a RampUp or None", self.ramp_up, "write RampUp(schedule=(20, 30, 40))")

    @property
    def last_hour(self) -> int:
        """`end_hour` counted from the midnight at which the opening day begins: above 24 for a window over midnight."""
        end = self.end_hour or 24
        return end if end > self.start_hour else end + 24


def check_settings(given: object) -> None:
    """Refuse whatever else stands in their place."""
    if not isinstance(given, SendingSettings):
        refuse("settings", "SendingSettings", given, "make them with SendingSettings(…)")


def _days(given: object) -> tuple[str, ...]:
    days = listed("sending_days", given, 'days, such as ("mon", "tue")')
    for day in days:
        if day not in DAYS:
            raise InvalidCampaign("sending_days", f"{shown(day)} is no day", suggestion(str(day).lower(), DAYS))
    if not days:
        raise InvalidCampaign(
            "sending_days", "is empty, so nothing would ever leave", f"name some of {', '.join(DAYS)}"
        )
    return tuple(day for day in DAYS if day in days)


def known_zone(given: object) -> ZoneInfo:
    """The clock of an IANA name; a refusal that says which was probably meant, if there is none."""
    name = text_of("timezone", given)
    # By the list and not by trying: a path, a folder or a file that is no clock fails in many ways.
    if name not in _zones():
        raise InvalidCampaign("timezone", f"{shown(name)} is no zone of the IANA database", _meant(name))
    return ZoneInfo(name)


@cache
def _zones() -> frozenset[str]:
    """Without the two names that are no place: a machine's own clock is another on the next machine."""
    return frozenset(available_timezones() - {"localtime", "Factory"})


def _meant(zone: str) -> str:
    by_letters = {name.lower(): name for name in sorted(_zones())}
    wanted = zone.strip().lower().replace(" ", "_")
    by_city = next((name for name in sorted(_zones()) if name.lower().endswith(f"/{wanted}")), None)
    found = by_letters.get(wanted) or by_city or _OF_WINDOWS.get(wanted.removesuffix("_standard_time"))
    found = found or by_letters.get(nearest(wanted, by_letters, alike=ALIKE) or "")
    return f"did you mean {found}?" if found else "write it as 'Europe/Berlin', 'America/New_York' or 'UTC'"


def _check_hours(start: object, end: object) -> None:
    whole("start_hour", start, least=0, most=23)
    whole("end_hour", end, least=0, most=24)
    if start == end:
        remedy = "choose another hour, or 0 and 24 for the whole day"
        raise InvalidCampaign("end_hour", f"is {end} like start_hour, which leaves no hour to send in", remedy)


def _dates(given: object) -> tuple[date, ...]:
    dates = listed("holidays", given, "dates, such as (date(2026, 12, 25),)")
    for each in dates:
        # A datetime is a date to Python, yet equals none: as a holiday it would silently close nothing.
        if not isinstance(each, date) or isinstance(each, datetime):
            refuse("holidays", "dates", each, "write date(2026, 12, 25)")
    return tuple(sorted({each for each in dates if isinstance(each, date)}))


def _gap(given: object) -> tuple[int, int]:
    gap = listed("gap_seconds", given, "the least and the most seconds, such as (30, 90)")
    if len(gap) != 2:
        refuse("gap_seconds", "two numbers", given, "write the least and the most seconds, such as (30, 90)")
    least, most = (whole("gap_seconds", each, least=0, most=LONGEST_GAP) for each in gap)
    if least > most:
        raise InvalidCampaign("gap_seconds", f"the least, {least}, is above the most, {most}", "put the smaller first")
    return least, most

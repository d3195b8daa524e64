"""Windows (P1), what daylight saving (P2) and holidays (P3) do to them, on every clock of the IANA database."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from itertools import cycle, pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.campaigns import SendingSettings, next_open, window, window_day_at
from postroom.campaigns.arithmetic.settings import DAYS
from postroom.errors import InvalidCampaign
from tests.campaigns.arithmetic.clocks import (
    FIRST,
    LAST,
    ODD_ZONES,
    ZONES,
    changes,
    days,
    first_shown,
    first_shown_by_whenever,
    over_by_whenever,
    shown,
    zones,
)

NEW_YORK, BERLIN = "America/New_York", "Europe/Berlin"
DAY = timedelta(days=1)


def daily(start: int, end: int, zone: str, **more: Any) -> SendingSettings:
    return SendingSettings(sending_days=DAYS, start_hour=start, end_hour=end, timezone=zone, **more)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def hours(found: tuple[datetime, datetime] | None) -> float:
    return (found[1] - found[0]) / timedelta(hours=1) if found else 0


def test_p1_a_window_lies_between_its_hours_on_the_clock_of_the_zone_edge_case_6() -> None:
    """Times are in UTC: in New York, nine o'clock is 14:00 in winter and 13:00 in summer."""
    settings = daily(9, 17, NEW_YORK)

    assert window(settings, date(2026, 3, 6)) == (utc("2026-03-06T14:00"), utc("2026-03-06T22:00"))
    assert window(settings, date(2026, 3, 9)) == (utc("2026-03-09T13:00"), utc("2026-03-09T21:00"))


def test_p1_sending_days_name_the_days_on_which_windows_open_edge_case_5() -> None:
    settings = SendingSettings(sending_days=("fri",), start_hour=22, end_hour=6, timezone=BERLIN)

    assert window(settings, date(2026, 6, 4)) is None
    assert window(settings, date(2026, 6, 5)) == (utc("2026-06-05T20:00"), utc("2026-06-06T04:00"))
    assert window(settings, date(2026, 6, 6)) is None


@pytest.mark.parametrize("end", [0, 24])
def test_p1_a_window_may_end_at_midnight(end: int) -> None:
    assert window(daily(20, end, "UTC"), date(2026, 6, 5)) == (utc("2026-06-05T20:00"), utc("2026-06-06T00:00"))


@pytest.mark.parametrize(
    ("start", "end", "day", "opens", "lasts"),
    [
        # Forward: 02:00 to 03:00 is missing on 29 March.
        (1, 5, date(2026, 3, 29), "2026-03-29T00:00", 3),
        (2, 5, date(2026, 3, 29), "2026-03-29T01:00", 2),  # opens at the change
        (1, 2, date(2026, 3, 29), "2026-03-29T00:00", 1),
        (2, 3, date(2026, 3, 29), None, 0),  # no instant is left
        (22, 2, date(2026, 3, 28), "2026-03-28T21:00", 4),
        (22, 6, date(2026, 3, 28), "2026-03-28T21:00", 7),
        # Back: 02:00 to 03:00 comes twice on 25 October.
        (1, 5, date(2026, 10, 25), "2026-10-24T23:00", 5),
        (2, 3, date(2026, 10, 25), "2026-10-25T00:00", 2),  # open both times
        (3, 5, date(2026, 10, 25), "2026-10-25T02:00", 2),
        (1, 2, date(2026, 10, 25), "2026-10-24T23:00", 1),
        (22, 6, date(2026, 10, 24), "2026-10-24T20:00", 9),
        (0, 24, date(2026, 10, 25), "2026-10-24T22:00", 25),
    ],
)
def test_p2_what_the_two_changes_of_a_year_do_to_a_window(
    start: int, end: int, day: date, opens: str | None, lasts: int
) -> None:
    found = window(daily(start, end, BERLIN), day)

    assert (found[0] if found else None) == (utc(opens) if opens else None)
    assert hours(found) == lasts


@pytest.mark.parametrize(
    ("zone", "start", "end", "day", "opens", "closes"),
    [
        ("America/Havana", 0, 2, date(2026, 3, 8), "2026-03-08T05:00", "2026-03-08T06:00"),  # 00:00 is missing
        ("America/Havana", 22, 0, date(2026, 3, 7), "2026-03-08T03:00", "2026-03-08T05:00"),
        ("America/Havana", 0, 1, date(2026, 11, 1), "2026-11-01T04:00", "2026-11-01T06:00"),  # and comes twice
        ("Asia/Beirut", 22, 24, date(2026, 10, 24), "2026-10-24T19:00", "2026-10-24T22:00"),  # 23:00 comes twice
        ("Africa/Cairo", 0, 2, date(2026, 4, 24), "2026-04-23T22:00", "2026-04-23T23:00"),
        (
            "Australia/Lord_Howe",
            2,
            3,
            date(2026, 10, 4),
            "2026-10-03T15:30",
            "2026-10-03T16:00",
        ),  # half is missing
        ("Australia/Lord_Howe", 1, 2, date(2026, 4, 5), "2026-04-04T14:00", "2026-04-04T15:30"),
        ("Pacific/Chatham", 3, 4, date(2026, 9, 27), "2026-09-26T14:00", "2026-09-26T14:15"),  # from 02:45 to 03:45
        ("America/Nuuk", 23, 2, date(2026, 3, 28), "2026-03-29T01:00", "2026-03-29T03:00"),  # opens with the next date
        ("America/St_Johns", 0, 1, date(2011, 3, 13), "2011-03-13T03:30", "2011-03-13T03:31"),  # one minute is left
        ("Asia/Kathmandu", 9, 17, date(2026, 6, 5), "2026-06-05T03:15", "2026-06-05T11:15"),
    ],
)
def test_p2_clocks_that_change_in_odd_ways(zone: str, start: int, end: int, day: date, opens: str, closes: str) -> None:
    assert window(daily(start, end, zone), day) == (utc(opens), utc(closes))


def test_p2_a_date_that_a_clock_skips_is_a_closed_day() -> None:
    """Samoa went from 29 to 31 December 2011. Only the tail of a night has instants left, on the date after."""
    skipped = date(2011, 12, 30)

    assert window(daily(9, 17, "Pacific/Apia"), skipped) is None
    assert window(daily(0, 24, "Pacific/Apia"), skipped) is None
    assert window(daily(22, 6, "Pacific/Apia"), skipped) == (utc("2011-12-30T10:00"), utc("2011-12-30T16:00"))
    assert next_open(daily(9, 17, "Pacific/Apia"), utc("2011-12-30T09:00")) == utc("2011-12-30T19:00")


def test_p3_no_window_opens_on_a_holiday_and_a_night_ends_at_its_midnight_edge_case_5() -> None:
    christmas = date(2026, 12, 25)
    settings = daily(22, 6, BERLIN, holidays=(christmas,))

    assert window(settings, christmas - DAY) == (utc("2026-12-24T21:00"), utc("2026-12-24T23:00"))
    assert window(settings, christmas) is None
    assert window(settings, christmas + DAY) == (utc("2026-12-26T21:00"), utc("2026-12-27T05:00"))


def test_p3_a_holiday_begins_with_its_first_instant_where_midnight_is_missing() -> None:
    """In Havana 8 March 2026 begins at 01:00."""
    settings = daily(22, 6, "America/Havana", holidays=(date(2026, 3, 8),))

    assert window(settings, date(2026, 3, 7)) == (utc("2026-03-08T03:00"), utc("2026-03-08T05:00"))


def test_p3_a_holiday_that_comes_back_after_midnight_is_waited_for() -> None:
    """In St. John's 6 November 2010 was over at midnight, and came back a minute later for 59 minutes."""
    free, feast = daily(0, 8, "America/St_Johns"), daily(0, 8, "America/St_Johns", holidays=(date(2010, 11, 6),))

    assert window(free, date(2010, 11, 7)) == (utc("2010-11-07T02:30"), utc("2010-11-07T11:30"))
    assert window(feast, date(2010, 11, 7)) == (utc("2010-11-07T03:30"), utc("2010-11-07T11:30"))


def test_p3_a_midnight_that_only_comes_twice_keeps_no_window_waiting() -> None:
    """In Havana the first hour of 1 November 2026 comes twice, and both times it is no holiday any more."""
    settings = daily(0, 8, "America/Havana", holidays=(date(2026, 10, 31),))

    assert window(settings, date(2026, 11, 1)) == (utc("2026-11-01T04:00"), utc("2026-11-01T13:00"))


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", NEW_YORK, "Pacific/Kiritimati", "Pacific/Pago_Pago"])
@pytest.mark.parametrize(("start", "end"), [(0, 24), (22, 6), (9, 17)])
def test_the_ends_of_the_calendar_break_nothing(zone: str, start: int, end: int) -> None:
    settings = daily(start, end, zone, holidays=(date.min, date.max))
    ends = [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)]

    assert [window(settings, day) for day in (date.min, date.max)] == [None, None]
    assert next_open(settings, ends[0]) is not None
    assert next_open(settings, ends[1]) is None
    assert [window_day_at(settings, each) for each in ends] == [None, None]
    for day in (date.min, date.max):
        window(daily(start, end, zone), day)


def test_the_last_window_of_the_calendar_is_open() -> None:
    last = datetime(9999, 12, 31, 16, tzinfo=UTC)

    assert next_open(daily(9, 17, "UTC"), last) == last
    assert next_open(daily(9, 17, "UTC"), last + timedelta(hours=1)) is None


def test_the_next_open_instant_is_found_behind_any_number_of_holidays() -> None:
    holidays = tuple(date(2026, 1, 1) + timedelta(days=each) for each in range(1000))
    settings = SendingSettings(sending_days=("mon",), holidays=holidays)

    assert next_open(settings, utc("2026-01-01T12:00")) == utc("2028-10-02T09:00")


def test_an_instant_in_an_open_window_is_its_own_next_and_the_closing_one_is_not() -> None:
    settings = SendingSettings(timezone=BERLIN)
    friday = utc("2026-06-05T10:30:01")

    assert next_open(settings, friday) == friday
    assert next_open(settings, friday.astimezone(timezone(timedelta(hours=9)))) == friday
    assert next_open(settings, utc("2026-06-05T14:59:59")) == utc("2026-06-05T14:59:59")
    assert next_open(settings, utc("2026-06-05T15:00")) == utc("2026-06-08T07:00")


def test_an_instant_belongs_to_the_day_on_which_its_window_opened() -> None:
    settings = daily(22, 6, BERLIN)

    assert window_day_at(settings, utc("2026-06-05T20:00")) == date(2026, 6, 5)
    assert window_day_at(settings, utc("2026-06-06T03:59")) == date(2026, 6, 5)
    assert window_day_at(settings, utc("2026-06-06T04:00")) is None


def test_an_instant_before_midnight_may_belong_to_the_day_after() -> None:
    """In St. John's, 7 November 2010 began at midnight, and the clock went back to 23:01 a minute later."""
    late = utc("2010-11-07T03:00")
    settings = daily(0, 8, "America/St_Johns")

    assert late.astimezone(settings.zone).date() == date(2010, 11, 6)
    assert window_day_at(settings, late) == date(2010, 11, 7)


class _Nowhere(tzinfo):
    """A zone that knows no distance from UTC: Python calls its times naive."""

    def utcoffset(self, when: datetime | None) -> timedelta | None:
        return None


def test_a_zone_that_does_not_know_its_distance_from_utc_is_none() -> None:
    with pytest.raises(InvalidCampaign, match="instant: is a time without a zone"):
        next_open(SendingSettings(), datetime(2026, 6, 5, tzinfo=_Nowhere()))


@pytest.mark.parametrize("ask", [window, next_open, window_day_at])
def test_what_are_no_settings_is_refused_by_its_field(ask: Any) -> None:
    with pytest.raises(InvalidCampaign, match=r"^settings: expected SendingSettings, got \{\}"):
        ask({}, utc("2026-06-05T09:00"))


def test_times_without_a_zone_and_datetimes_for_days_are_refused() -> None:
    with pytest.raises(InvalidCampaign, match="instant: is a time without a zone"):
        next_open(SendingSettings(), datetime(2026, 6, 5))  # noqa: DTZ001
    with pytest.raises(InvalidCampaign, match="instant: is a time without a zone"):
        window_day_at(SendingSettings(), datetime(2026, 6, 5))  # noqa: DTZ001
    with pytest.raises(InvalidCampaign, match="day: expected a date, got a datetime"):
        window(SendingSettings(), utc("2026-06-05T09:00"))


@pytest.mark.parametrize(
    "instant",
    [
        datetime(9999, 12, 31, 23, tzinfo=ZoneInfo("America/New_York")),
        datetime(1, 1, 1, tzinfo=ZoneInfo("Asia/Tokyo")),
    ],
)
def test_an_instant_that_utc_has_no_date_for_is_refused(instant: datetime) -> None:
    for asked in (next_open, window_day_at):
        with pytest.raises(InvalidCampaign, match="instant: lies beyond either end of the calendar in UTC; give"):
            asked(SendingSettings(), instant)


@st.composite
def cases(draw: st.DrawFn, zone: st.SearchStrategy[str] = zones) -> tuple[SendingSettings, date]:
    name = draw(zone)
    start, end = draw(st.tuples(st.integers(0, 23), st.integers(0, 24)).filter(lambda pair: pair[0] != pair[1]))
    day = draw(days(name))
    holidays = draw(st.sets(st.sampled_from([day - DAY, day + DAY]) | st.dates(FIRST, LAST), max_size=3))
    return daily(start, end, name, holidays=holidays - {day}), day


@given(cases())
def test_p1_p2_p3_a_window_is_as_whenever_says(case: tuple[SendingSettings, date]) -> None:
    settings, day = case
    opens = first_shown_by_whenever(settings.timezone, shown(day, settings.start_hour))
    closes = first_shown_by_whenever(settings.timezone, shown(day, settings.last_hour))
    if day + DAY in settings.holidays:
        closes = min(closes, first_shown_by_whenever(settings.timezone, shown(day, 24)))
    if day - DAY in settings.holidays:
        opens = max(opens, over_by_whenever(settings.timezone, shown(day, 0)))

    assert window(settings, day) == ((opens, closes) if opens < closes else None)


HOURS = [(9, 17), (22, 6), (0, 24), (2, 3), (23, 1)]


def test_p1_p2_every_zone_opens_and_closes_around_every_change_of_its_clock_as_whenever_says() -> None:
    """All of them, from 2000 to 2037; what chance looks at closer above, here is looked at everywhere."""
    differing = []
    for zone in ZONES:
        hours = cycle(HOURS)
        for change in changes(zone) or (date(2026, 6, 5),):
            start, end = next(hours)
            settings = daily(start, end, zone)
            for day in (change - DAY, change):
                opens = first_shown_by_whenever(zone, shown(day, start))
                closes = first_shown_by_whenever(zone, shown(day, settings.last_hour))
                if window(settings, day) != ((opens, closes) if opens < closes else None):
                    differing.append((zone, start, end, day))

    assert not differing


@given(cases(st.sampled_from(ODD_ZONES)))
def test_p1_p2_p3_a_window_is_as_a_look_at_the_clock_every_minute_says(case: tuple[SendingSettings, date]) -> None:
    settings, day = case
    opens = first_shown(settings.zone, shown(day, settings.start_hour))
    closes = first_shown(settings.zone, shown(day, settings.last_hour))
    minutes = [opens + timedelta(minutes=each) for each in range(max(0, (closes - opens) // timedelta(minutes=1)))]
    dates = {each: each.astimezone(settings.zone).date() for each in minutes}
    feast = [each for each in minutes if dates[each] in settings.holidays]
    eve = [each for each in feast if dates[each] < day]
    morrow = [each for each in feast if dates[each] > day]
    expected = [each for each in minutes if dates[each] not in settings.holidays and not (eve and each < eve[-1])]
    expected = [each for each in expected if not (morrow and each > morrow[0])]
    found = window(settings, day)

    assert found == ((expected[0], expected[-1] + timedelta(minutes=1)) if expected else None)


@given(cases(), st.integers(0, 3 * 86_400))
def test_every_instant_belongs_to_one_window_at_most_and_the_next_open_one_to_one(
    case: tuple[SendingSettings, date], seconds: int
) -> None:
    settings, day = case
    instant = datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(seconds=seconds) - DAY
    around = [day + timedelta(days=each) for each in range(-4, 5)]
    windows = [(each, found) for each in around if (found := window(settings, each))]
    holding = [each for each, (opens, closes) in windows if opens <= instant < closes]
    following = next_open(settings, instant)

    assert all(before[1][1] <= after[1][0] for before, after in pairwise(windows))
    assert ([window_day_at(settings, instant)] if holding else []) == holding
    assert following is not None
    assert window_day_at(settings, following) is not None
    assert following == min(max(opens, instant) for _, (opens, closes) in windows if closes > instant)

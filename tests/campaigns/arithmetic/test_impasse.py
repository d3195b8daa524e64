"""Whether anything will ever leave with some settings, and what to do where nothing will."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from postroom.campaigns.arithmetic.impasse import impasse
from postroom.campaigns.arithmetic.settings import RampUp, SendingSettings

MONDAY = datetime(2026, 3, 9, 8, tzinfo=UTC)


def ramp(*schedule: int, quota: int = 50) -> SendingSettings:
    return SendingSettings(daily_quota=quota, ramp_up=RampUp(schedule=schedule))


@pytest.mark.parametrize(
    ("settings", "sent_days", "used"),
    [
        (SendingSettings(daily_quota=1), 0, 0),
        (ramp(1, 2), 0, 0),
        (ramp(0, 2), 1, 0),  # that day is over
        (ramp(0, 2), 0, 1),  # and so it will be when this one is
    ],
)
def test_where_mail_may_leave_in_time_there_is_none(settings: SendingSettings, sent_days: int, used: int) -> None:
    assert impasse(settings, now=MONDAY, sent_days=sent_days, used=used) is None


@pytest.mark.parametrize(
    ("settings", "told", "words"),
    [
        (ramp(5, quota=0), "Nothing will ever leave: the daily quota is 0.", "settings --daily-quota 50"),
        (ramp(0, 5), "Nothing will ever leave: the ramp-up allows 0 mails on its day 1,", "settings --ramp-up 1,5"),
        (ramp(5, 0), "From a later day on nothing will leave: the ramp-up allows 0 mails", "settings --ramp-up 5,1"),
    ],
)
def test_what_holds_all_mail_is_told_with_what_to_do(settings: SendingSettings, told: str, words: str) -> None:
    found = impasse(settings, now=MONDAY, sent_days=0)

    assert found is not None
    assert (found.told.startswith(told), found.words) == (True, words)


def test_a_calendar_without_a_window_is_told_as_well() -> None:
    last = date(9999, 12, 31)
    settings = SendingSettings(holidays=tuple(last - timedelta(days=each) for each in range(9)))
    found = impasse(settings, now=datetime(9999, 12, 25, tzinfo=UTC), sent_days=0)

    assert found is not None
    assert str(found) == "no window ever opens; name other days, hours or holidays"


def test_a_sender_is_named_and_changed_by_the_id() -> None:
    found = impasse(ramp(0), now=MONDAY, sent_days=0, sender="ada's")

    assert found is not None
    assert found.told.startswith("Nothing will ever leave from ada's: the ramp-up of ada's allows 0 mails on its day 1")
    assert found.words == """sender 'ada'"'"'s' --ramp-up 1"""

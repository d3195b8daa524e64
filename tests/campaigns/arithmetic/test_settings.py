"""Settings are checked when they are made (E10), and each refusal names its field."""

from __future__ import annotations

import pickle
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pytest

from postroom.campaigns import RampUp, SendingSettings
from postroom.errors import InvalidCampaign, PostroomError

REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"timezone": "Europe/Berln"}, "timezone", "did you mean Europe/Berlin?"),
    ({"timezone": "berlin"}, "timezone", "did you mean Europe/Berlin?"),
    ({"timezone": "america/new york"}, "timezone", "did you mean America/New_York?"),
    ({"timezone": "W. Europe Standard Time"}, "timezone", "did you mean Europe/Berlin?"),
    ({"timezone": "Samoa Standard Time"}, "timezone", "write it as 'Europe/Berlin'"),
    ({"timezone": "Middle-earth"}, "timezone", "write it as 'Europe/Berlin'"),
    ({"timezone": "+02:00"}, "timezone", "is no zone"),
    ({"timezone": ""}, "timezone", "is no zone"),
    ({"timezone": "../../etc/passwd"}, "timezone", "is no zone"),
    ({"timezone": "localtime"}, "timezone", "is no zone"),  # another clock on each machine
    ({"timezone": "Factory"}, "timezone", "is no zone"),
    ({"timezone": None}, "timezone", "expected a text, got None"),
    ({"sending_days": ()}, "sending_days", "is empty"),
    ({"sending_days": ("mon", "teu")}, "sending_days", "did you mean tue?"),
    ({"sending_days": ("Monday",)}, "sending_days", "did you mean mon?"),
    ({"sending_days": "mon"}, "sending_days", "expected several values, got 'mon'"),
    ({"sending_days": (0, 1)}, "sending_days", "0 is no day"),
    ({"sending_days": 5}, "sending_days", "expected several values, got 5"),
    ({"start_hour": 9, "end_hour": 9}, "end_hour", "leaves no hour to send in"),
    ({"start_hour": 0, "end_hour": 0}, "end_hour", "0 and 24 for the whole day"),
    ({"start_hour": 24}, "start_hour", "expected a whole number from 0 to 23, got 24"),
    ({"start_hour": -1}, "start_hour", "got -1"),
    ({"start_hour": "9"}, "start_hour", "got '9'; write it as a number"),
    ({"start_hour": True}, "start_hour", "got True"),
    ({"end_hour": 25}, "end_hour", "expected a whole number from 0 to 24, got 25"),
    ({"end_hour": 17.5}, "end_hour", "got 17.5"),
    ({"daily_quota": -1}, "daily_quota", "expected a whole number from 0, got -1"),
    ({"daily_quota": False}, "daily_quota", "got False"),
    ({"daily_quota": "50"}, "daily_quota", "got '50'"),
    ({"daily_quota": None}, "daily_quota", "got None; give a number"),
    ({"gap_seconds": (90, 30)}, "gap_seconds", "put the smaller first"),
    ({"gap_seconds": (-1, 30)}, "gap_seconds", "got -1"),
    ({"gap_seconds": (0.5, 30)}, "gap_seconds", "got 0.5"),
    ({"gap_seconds": (30,)}, "gap_seconds", "expected two numbers"),
    ({"gap_seconds": 30}, "gap_seconds", "such as (30, 90)"),
    ({"gap_seconds": (30, 86_401)}, "gap_seconds", "from 0 to 86400"),
    ({"holidays": ("2026-12-25",)}, "holidays", "write date(2026, 12, 25)"),
    ({"holidays": (datetime(2026, 12, 25, tzinfo=UTC),)}, "holidays", "expected dates"),
    ({"holidays": date(2026, 12, 25)}, "holidays", "such as (date(2026, 12, 25),)"),
    ({"ramp_up": (20, 30)}, "ramp_up", "write RampUp(schedule=(20, 30, 40))"),
]


@pytest.mark.parametrize(("given", "field", "told"), REFUSED, ids=[str(each[0]) for each in REFUSED])
def test_e10_what_cannot_be_meant_is_refused_by_its_field(given: dict[str, Any], field: str, told: str) -> None:
    with pytest.raises(ValueError) as refused:
        SendingSettings(**given)

    assert isinstance(refused.value, InvalidCampaign)
    assert isinstance(refused.value, PostroomError)
    assert refused.value.field == field
    assert told in str(refused.value)


@pytest.mark.parametrize("schedule", [(20, -1), (20, "30"), (True,), "20", 20], ids=repr)
def test_e10_a_ramp_up_is_refused_by_its_field(schedule: Any) -> None:
    with pytest.raises(InvalidCampaign, match=r"^ramp_up\.schedule: "):
        RampUp(schedule=schedule)


def test_edge_case_8_an_empty_sending_window_cannot_be_set() -> None:
    """«Handle case where no valid days are configured»: it is refused before anything is written."""
    with pytest.raises(InvalidCampaign, match="sending_days: is empty, so nothing would ever leave; name some of mon"):
        SendingSettings(sending_days=())


def test_without_settings_mail_leaves_on_weekdays_in_office_hours() -> None:
    settings = SendingSettings()

    assert settings.sending_days == ("mon", "tue", "wed", "thu", "fri")
    assert (settings.start_hour, settings.end_hour, settings.timezone) == (9, 17, "UTC")
    assert (settings.daily_quota, settings.ramp_up, settings.gap_seconds) == (50, None, (30, 90))


def test_days_and_holidays_are_kept_in_their_order_and_once() -> None:
    settings = SendingSettings(
        sending_days=["fri", "mon", "fri"],  # type: ignore[arg-type]
        holidays=(day for day in (date(2026, 12, 26), date(2026, 12, 25), date(2026, 12, 25))),  # type: ignore[arg-type]
    )

    assert settings.sending_days == ("mon", "fri")
    assert settings.holidays == (date(2026, 12, 25), date(2026, 12, 26))


def test_settings_are_values() -> None:
    settings = SendingSettings(timezone="Europe/Berlin", ramp_up=RampUp(schedule=[20, 30]))  # type: ignore[arg-type]

    assert replace(settings, daily_quota=7) == replace(settings, daily_quota=7) != settings
    assert replace(settings, timezone="Asia/Tokyo").zone.key == "Asia/Tokyo"
    assert pickle.loads(pickle.dumps(settings)) == settings
    assert hash(settings) == hash(replace(settings))
    assert len({settings, replace(settings), SendingSettings()}) == 2
    assert "weekdays=" not in repr(settings)

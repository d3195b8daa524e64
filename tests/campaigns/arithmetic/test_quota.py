"""The ramp-up (P5)."""

from __future__ import annotations

import pytest

from postroom.campaigns import RampUp, SendingSettings, allowance
from postroom.errors import InvalidCampaign


def test_p5_the_ramp_up_holds_day_by_day_and_then_the_quota() -> None:
    settings = SendingSettings(daily_quota=50, ramp_up=RampUp(schedule=(20, 30, 40)))

    assert [allowance(settings, day) for day in (1, 2, 3, 4, 1000)] == [20, 30, 40, 50, 50]


def test_p5_the_ramp_up_never_allows_more_than_the_quota() -> None:
    settings = SendingSettings(daily_quota=25, ramp_up=RampUp(schedule=(20, 30, 10)))

    assert [allowance(settings, day) for day in (1, 2, 3, 4)] == [20, 25, 10, 25]


def test_p5_without_a_ramp_up_every_day_is_alike() -> None:
    empty = SendingSettings(daily_quota=7, ramp_up=RampUp(schedule=()))

    assert [allowance(SendingSettings(daily_quota=7), day) for day in (1, 2)] == [7, 7]
    assert [allowance(empty, day) for day in (1, 2)] == [7, 7]


@pytest.mark.parametrize("day", [0, -1, True, 1.0])
def test_days_of_the_ramp_up_count_from_one(day: int) -> None:
    with pytest.raises(InvalidCampaign, match="ramp_day: expected a whole number from 1"):
        allowance(SendingSettings(), day)

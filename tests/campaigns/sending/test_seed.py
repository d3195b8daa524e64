"""What the outreach team asked for, by its numbers: acceptance criteria and edge cases, each on both stores."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from postroom.campaigns import SendingSettings
from postroom.campaigns.sending.acting import pause_prospect
from postroom.errors import InvalidCampaign
from postroom.vocabulary import EnrolmentStatus
from tests.campaigns.sending.stage import MONDAY, OFFICE, SHOP, Stage, dead, fails

WEEKS = MONDAY + timedelta(days=21)


def test_ac1_a_launch_schedules_every_step_of_every_prospect(stage: Stage) -> None:
    stage.settings(OFFICE)
    stage.sender()
    stage.draft(prospects=3, delays=(0, 3, 4))

    assert stage.launch().scheduled == 9
    assert {each.planned_at is not None for each in stage.mails()} == {True}


def test_ac2_scheduling_twice_makes_no_duplicates(stage: Stage) -> None:
    stage.settings(OFFICE)
    stage.launched("spring", 3)

    assert (stage.launch().scheduled, len(stage.mails())) == (0, 3)


def test_ac3_mail_leaves_within_the_window_the_quota_and_a_random_gap(stage: Stage) -> None:
    settings = replace(OFFICE, daily_quota=3, gap_seconds=(30, 90))
    stage.settings(settings)
    stage.launched("spring", 7)
    stage.send_until(WEEKS)

    assert list(stage.by_day(settings).values()) == [3, 3, 1]


def test_ac4_a_temporary_failure_is_tried_again(stage: Stage) -> None:
    stage.settings()
    stage.launched("spring", 1)
    stage.settle(fails(stage.claim(), stage.clock.now))
    stage.send_until(WEEKS)

    assert stage.states() == {"p1:spring-words:1": "sent"}


def test_ac5_a_permanent_failure_is_not(stage: Stage) -> None:
    stage.settings()
    stage.launched("spring", 1, (0, 0))
    stage.settle(dead(stage.claim()))
    stage.send_until(WEEKS)

    assert stage.log == []
    assert stage.states() == {"p1:spring-words:1": "dead", "p1:spring-words:2": "stopped"}


def test_ac6_the_outcome_of_a_launch_is_told(stage: Stage) -> None:
    stage.sender()
    stage.draft(prospects=2)
    launched = stage.launch()

    assert (launched.scheduled, launched.skipped, launched.errors) == (2, {}, ())


def test_edge_case_3_a_paused_prospect_gets_nothing(stage: Stage) -> None:
    stage.settings()
    stage.launched("spring", 2)
    stage.run(pause_prospect(SHOP, "spring", "p1"))
    stage.send_until(WEEKS)

    assert [left.key for left in stage.log] == ["p2:spring-words:1"]
    assert stage.enrolments()["p1"].status is EnrolmentStatus.PAUSED


def test_edge_case_4_what_is_over_the_quota_moves_to_the_next_day(stage: Stage) -> None:
    settings = replace(OFFICE, daily_quota=1)
    stage.settings(settings)
    stage.launched("spring", 3)
    stage.send_until(WEEKS)

    assert [left.at.day for left in stage.log] == [9, 10, 11]


def test_edge_case_5_weekends_are_left_out(stage: Stage) -> None:
    settings = replace(OFFICE, daily_quota=1)
    stage.settings(settings)
    stage.launched("spring", 6)
    stage.send_until(WEEKS)

    assert [f"{left.at:%a}" for left in stage.log] == ["Mon", "Tue", "Wed", "Thu", "Fri", "Mon"]


def test_edge_case_6_hours_are_those_of_the_workspace_s_clock(stage: Stage) -> None:
    settings = replace(OFFICE, timezone="America/New_York")
    stage.settings(settings)
    stage.launched("spring", 1)
    stage.send_until(WEEKS)

    assert [f"{left.at:%H}" for left in stage.log] == ["13"]


def test_edge_case_7_delays_count_from_the_step_before(stage: Stage) -> None:
    stage.settings(OFFICE)
    stage.launched("spring", 1, (0, 1, 2))
    stage.send_until(WEEKS)

    assert [f"{left.at:%a}" for left in stage.log] == ["Mon", "Tue", "Thu"]


def test_edge_case_8_a_window_without_days_is_refused_when_it_is_made() -> None:
    with pytest.raises(InvalidCampaign, match="sending_days"):
        SendingSettings(sending_days=())

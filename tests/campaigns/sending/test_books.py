"""What a campaign says of itself: when its mails will leave, why they wait, and numbers that add up."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from postroom.campaigns import RampUp, SendingSettings
from postroom.campaigns.drafts.campaigns import add_campaign
from postroom.campaigns.drafts.workspace import pause_sender
from postroom.campaigns.looking.explaining import explain
from postroom.campaigns.looking.standstill import standstill
from postroom.campaigns.looking.totals import Headcount, discrepancies, headcount, totals_of
from postroom.campaigns.sending.acting import (
    cancel_campaign,
    cancelled_through,
    pause_campaign,
    pause_prospect,
    stop_in_campaign,
)
from postroom.campaigns.sending.launching import launch
from postroom.campaigns.sending.replanning import replan
from postroom.campaigns.values import Campaign
from postroom.store.plan import Plan, ask
from postroom.store.suppressions import Stop, suppress
from postroom.vocabulary import EnrolmentStatus, SuppressionReason
from tests.campaigns.sending.stage import MONDAY, OFFICE, OPEN_ALWAYS, SHOP, Stage, dead, fails, in_doubt
from tests.campaigns.sending.test_launch import some_of

STILL_TO_GET_SOMETHING = (EnrolmentStatus.ENROLLED, EnrolmentStatus.ACTIVE, EnrolmentStatus.PAUSED)


def _set_aside(prospect: str, until: datetime) -> Plan[None]:
    yield ask("set_aside_until", workspace=SHOP, prospect=prospect, until=until, reason="away", paused="paused")


def reasons(stage: Stage, campaign: str = "spring", settings: object = OFFICE, **how: object) -> dict[str, str]:
    found = stage.run(explain(SHOP, campaign, **how))
    return {each.mail.key.replace(f":{campaign}-words", ""): each.told(settings) for each in found}


# ---------------------------------------------------------------- planned


def test_a_launch_writes_when_each_mail_is_to_leave(stage: Stage) -> None:
    """P10: the plan serves the preview and the slots alike."""
    stage.settings(replace(OFFICE, daily_quota=2))
    stage.launched("spring", 3, (0, 1))

    planned = {each.key: f"{each.planned_at:%a}" for each in stage.mails()}
    assert planned == {
        "p1:spring-words:1": "Mon", "p2:spring-words:1": "Mon", "p3:spring-words:1": "Wed",
        "p1:spring-words:2": "Tue", "p2:spring-words:2": "Tue", "p3:spring-words:2": "Thu",
    }  # fmt: skip


def test_other_settings_give_other_plans(stage: Stage) -> None:
    stage.settings(replace(OFFICE, daily_quota=1))
    stage.launched("spring", 2)
    stage.settings(replace(OFFICE, daily_quota=5, sending_days=("fri",)))
    assert stage.go_through(replan(SHOP)) == 2

    assert [f"{each.planned_at:%a}" for each in stage.mails()] == ["Fri", "Fri"]


def test_a_follow_up_is_planned_anew_from_the_actual_send(stage: Stage) -> None:
    stage.settings(OFFICE)
    stage.launched("spring", 1, (0, 1))
    stage.clock.now = MONDAY.replace(hour=12) + timedelta(days=1)
    stage.send()
    stage.nothing_leaves()

    assert f"{stage.mail('p1:spring-words:2').planned_at:%a %H:%M}" == "Wed 09:00"


def test_a_follow_up_keeps_its_planned_time_where_the_step_before_left_on_its_day(stage: Stage) -> None:
    """P10: the plan knew of the quota, which is used up today; the instant of the send would be in the past at once."""
    stage.settings(replace(OFFICE, daily_quota=1))
    stage.launched("spring", 1, (0, 0))
    foreseen = stage.mail("p1:spring-words:2").planned_at
    stage.clock.now = MONDAY.replace(hour=9)
    stage.send()
    stage.nothing_leaves()

    assert stage.mail("p1:spring-words:2").planned_at == foreseen
    assert f"{foreseen:%a %H:%M}" == "Tue 09:00"


def test_a_follow_up_that_waits_for_its_turn_in_a_window_that_is_open_has_no_time_in_the_past(stage: Stage) -> None:
    stage.settings(replace(OFFICE, daily_quota=10))
    stage.launched("spring", 1, (0, 0))
    stage.clock.now = MONDAY.replace(hour=12) + timedelta(days=1)
    stage.send()
    stage.tick()

    assert stage.mail("p1:spring-words:2").planned_at is None


def test_what_leaves_before_its_launch_has_worked_out_times_was_planned_for_then(stage: Stage) -> None:
    stage.settings(OPEN_ALWAYS)
    stage.sender()
    stage.draft(prospects=1)
    some_of(launch(SHOP, "spring"), stage, 3)
    stage.send()

    [mail] = stage.mails()
    assert mail.planned_at == mail.left_at == stage.clock.now


def test_where_nothing_can_leave_any_more_no_mail_says_when(stage: Stage) -> None:
    """P10: with a quota of 0 the plan has no slots, and those of the plan before do not hold."""
    stage.settings(OFFICE)
    stage.launched("spring", 2, (0, 1))
    assert all(each.planned_at for each in stage.mails())
    stage.settings(replace(OFFICE, daily_quota=0))
    assert stage.go_through(replan(SHOP)) == 0

    assert [each.planned_at for each in stage.mails()] == [None] * 4


def test_only_what_leaves_before_the_ramp_up_comes_to_an_end_says_when(stage: Stage) -> None:
    stage.settings(OFFICE)
    stage.launched("spring", 3)
    stage.settings(replace(OFFICE, ramp_up=RampUp(schedule=(2, 0))))
    assert stage.go_through(replan(SHOP)) == 2

    assert [each.planned_at and f"{each.planned_at:%a}" for each in stage.mails()] == ["Mon", "Mon", None]


def planned(stage: Stage, settings: SendingSettings = OFFICE) -> dict[str, str]:
    """What is shown of it."""
    found = stage.run(explain(SHOP, "spring"))
    times = {each.mail.key.replace(":spring-words", ""): each.planned(settings) for each in found}
    return {key: f"{at:%a %H:%M}" if at else "" for key, at in times.items()}


def test_a_mail_that_waits_shows_when_it_leaves_by_the_plan(stage: Stage) -> None:
    stage.settings(replace(OFFICE, daily_quota=1))
    stage.launched("spring", 2)

    assert planned(stage) == {"p1:1": "Mon 09:00", "p2:1": "Tue 09:00"}


def test_a_planned_time_is_not_shown_any_more_when_it_is_over(stage: Stage) -> None:
    """No worker has run on Monday: Tuesday's mail may still leave then."""
    settings = replace(OFFICE, daily_quota=1)
    stage.settings(settings)
    stage.launched("spring", 2)
    stage.clock.now = MONDAY.replace(hour=9, minute=2)
    assert planned(stage, settings) == {"p1:1": "", "p2:1": "Tue 09:00"}

    stage.advance(hours=9)
    assert planned(stage, settings) == {"p1:1": "", "p2:1": "Tue 09:00"}


def test_a_planned_time_is_not_shown_where_the_mail_cannot_leave_before_a_later_one(stage: Stage) -> None:
    settings = replace(OFFICE, daily_quota=5)
    stage.settings(settings)
    stage.launched("spring", 2, (0, 1))
    until = MONDAY + timedelta(days=7)
    stage.run(_set_aside("p1", until))

    assert reasons(stage)["p1:1"] == "away, next Mon 16 Mar 09:00"
    assert [key for key, at in planned(stage, settings).items() if at] == ["p2:1", "p2:2"]


def test_nothing_says_when_it_leaves_while_somebody_has_to_do_something_first(stage: Stage) -> None:
    stage.settings(OFFICE)
    stage.launched("spring", 2)
    stage.run(pause_prospect(SHOP, "spring", "p1"))
    assert planned(stage)["p1:1"] == ""
    assert planned(stage)["p2:1"]

    stage.run(pause_sender(SHOP, "grace", reason=None))
    assert planned(stage) == {"p1:1": "", "p2:1": ""}


def test_a_time_outside_the_hours_as_they_are_now_is_not_shown(stage: Stage) -> None:
    """Other settings hold from their commit on; the times are worked out anew right after it."""
    stage.settings(OFFICE)
    stage.launched("spring", 1)

    assert planned(stage, replace(OFFICE, sending_days=("fri",))) == {"p1:1": ""}


# ---------------------------------------------------------------- explained


def test_each_waiting_mail_shows_one_reason(stage: Stage) -> None:
    settings = replace(OFFICE, daily_quota=2)
    stage.settings(settings)
    stage.launched("spring", 4, (0, 3))
    assert reasons(stage)["p1:1"] == "window_closed, next Mon 09 Mar 09:00"
    assert reasons(stage)["p1:2"] == "waiting_step (step 1)"
    stage.clock.now = MONDAY.replace(hour=9)
    stage.send()
    assert reasons(stage)["p2:1"] == "gap, next Mon 09 Mar 09:01"
    stage.clock.now = MONDAY.replace(hour=10)
    stage.send()
    stage.nothing_leaves()

    found = reasons(stage)
    assert found["p1:2"] == "waiting_step (2026-03-12), next Thu 12 Mar 09:00"
    assert found["p3:1"] == "quota_used (2/2), next Tue 10 Mar 09:00"
    stage.run(pause_prospect(SHOP, "spring", "p4"))
    assert reasons(stage)["p4:1"] == "paused"
    stage.run(pause_campaign(SHOP, "spring"))
    assert set(reasons(stage).values()) == {"paused"}


def test_holidays_ramps_and_senders_are_reasons_too(stage: Stage) -> None:
    stage.settings(replace(OFFICE, holidays=(MONDAY.date(),)))
    stage.launched("spring", 3)
    stage.clock.now = MONDAY.replace(hour=9)
    assert reasons(stage)["p1:1"] == "holiday, next Tue 10 Mar 09:00"
    stage.settings(replace(OFFICE, ramp_up=RampUp(schedule=(1,))))
    stage.send_until(MONDAY.replace(hour=9, minute=30))
    assert reasons(stage)["p2:1"] == "ramp_day (1), next Tue 10 Mar 09:00"
    assert reasons(stage, shut=["default"])["p2:1"] == "sender_down (grace)"
    stage.sender("grace", daily_quota=1)
    stage.settings(OFFICE)
    assert reasons(stage)["p2:1"] == "quota_used (1 of grace), next Tue 10 Mar 09:00"


def test_what_is_on_its_way_says_so(stage: Stage) -> None:
    stage.settings()
    stage.launched("spring", 2)
    first = stage.claim()
    stage.settle(in_doubt(first, None))
    second = stage.claim()
    stage.settle(fails(second, stage.clock.now))
    stage.nothing_leaves()

    found = reasons(stage)
    assert found["p1:1"] == "in doubt"
    assert found["p2:1"].startswith("gap, next Mon 09 Mar 08:05")


def test_a_mail_that_nobody_looks_at_says_since_when(stage: Stage) -> None:
    stage.settings()
    stage.launched("spring", 1)
    assert reasons(stage)["p1:1"] == "its turn"
    stage.advance(minutes=1)
    assert reasons(stage)["p1:1"] == "no_worker (since Mon 09 Mar 08:00)"
    assert stage.run(standstill()).unserved == ((SHOP, MONDAY),)
    assert stage.tick(routes=()).worked

    assert reasons(stage)["p1:1"] == "no_worker (since Mon 09 Mar 08:00)", "it was left to others"
    stage.send()
    stage.nothing_leaves()
    stage.advance(minutes=5)
    assert stage.run(standstill()).unserved == ()


# ---------------------------------------------------------------- adding up


def test_the_totals_of_a_campaign_add_up_at_every_moment(stage: Stage) -> None:
    stage.settings()
    stage.launched("spring", 3, (0, 0))
    for settlement in (dead, None, lambda email: fails(email, stage.clock.now)):
        email = stage.claim()
        assert stage.go_through(discrepancies(SHOP, "spring")) == ()
        stage.settle(settlement(email)) if settlement else stage.settle(in_doubt(email, None))
        stage.tick()
        assert stage.go_through(discrepancies(SHOP, "spring")) == ()
    stage.nothing_leaves()
    totals = stage.run(totals_of(SHOP, "spring"))

    assert totals.mails == 6
    assert totals.states == {"dead": 1, "stopped": 1, "leaving": 2, "waiting": 2}
    assert (totals.waiting, totals.stopped, totals.dead) == (4, {"previous_step": 1}, {"permanent": 1})


def test_books_that_do_not_add_up_are_told(stage: Stage) -> None:
    stage.settings()
    stage.launched("spring", 2)
    stage.send()
    tables = stage.outbox.database.dialect.tables
    with stage.outbox.transaction() as connection:
        connection.execute(f"UPDATE {tables}campaign_days SET used = used + 1 WHERE sender_id = ''")
        connection.execute(f"DELETE FROM {tables}campaign_mails WHERE prospect_id = 'p2'")

    assert [str(each) for each in stage.go_through(discrepancies(SHOP, "spring"))][:2] == [
        "mails: 2 expected, 1 found",
        "used on 2026-03-09: 1 expected, 2 found",
    ]


def test_who_is_on_the_list_and_was_never_launched_is_no_discrepancy_paused_or_not(stage: Stage) -> None:
    """Before their launch they wait for nothing that would have to be stopped; the launch passes over them."""
    stage.settings()
    stage.run(suppress([Stop(address="p1@example.org", reason=SuppressionReason.MANUAL)]))
    stage.sender()
    stage.draft("spring", 2)
    stage.run(pause_prospect(SHOP, "spring", "p1"))
    assert stage.go_through(discrepancies(SHOP, "spring")) == ()
    assert stage.launch().skipped == {"suppressed": 1}

    assert stage.go_through(discrepancies(SHOP, "spring")) == ()


def test_all_people_of_a_campaign_were_launched_passed_over_or_not_reached_yet(stage: Stage) -> None:
    stage.settings()
    stage.sender()
    stage.launched("early", ["p3"], sequence="words")
    stage.run(suppress([Stop(address="p2@example.org", reason=SuppressionReason.MANUAL)]))
    stage.run(add_campaign(SHOP, Campaign(id="spring", name="spring", sequence_id="words"), senders=["grace"]))
    stage.enrol("spring", 6)
    stage.run(stop_in_campaign(SHOP, "spring", "p4", reason="they called"))
    assert stage.run(headcount(SHOP, "spring")) == Headcount(enrolled=6, not_reached=6)
    some_of(launch(SHOP, "spring", batch=2), stage, 3)
    stage.run(pause_prospect(SHOP, "spring", "p5"))
    halfway = stage.run(headcount(SHOP, "spring"))
    told = stage.go_through(discrepancies(SHOP, "spring"))
    stage.cancel()
    again = stage.launch(again=True)
    whole = stage.run(headcount(SHOP, "spring"))

    passed_over = {"already_scheduled": 1, "stopped": 1, "suppressed": 1}
    assert halfway == Headcount(enrolled=6, launched=1, passed_over=passed_over, not_reached=2)
    assert told == stage.go_through(discrepancies(SHOP, "spring")) == ()
    assert again.scheduled == 2
    assert whole == Headcount(enrolled=6, launched=3, passed_over=passed_over)
    assert whole.enrolled == whole.accounted_for


@pytest.mark.parametrize(
    "falsified",
    [
        "UPDATE {tables}enrolments SET sequence_version = NULL WHERE prospect_id = 'p2'",
        "UPDATE {tables}campaigns SET launched_to = 1",
    ],
    ids=["gone through, and nothing came of it", "launched beyond where the launch has come to"],
)
def test_somebody_of_whom_nobody_knows_what_a_launch_came_to_is_told(stage: Stage, falsified: str) -> None:
    stage.settings()
    stage.launched("spring", 2)
    falsify(stage, falsified)

    told = [str(each) for each in stage.go_through(discrepancies(SHOP, "spring"))]
    assert "people launched, passed over or not reached yet: 2 expected, 1 found" in told


@pytest.mark.parametrize("status", [each for each in EnrolmentStatus if each not in STILL_TO_GET_SOMETHING])
def test_mails_that_wait_for_somebody_who_has_ended_are_told(stage: Stage, status: EnrolmentStatus) -> None:
    """Nothing of theirs would ever leave, or be stopped."""
    stage.settings()
    stage.launched("spring", 3, (0, 0))
    falsify(stage, f"UPDATE {{tables}}enrolments SET status = '{status}' WHERE prospect_id <> 'p1'")

    [told] = stage.go_through(discrepancies(SHOP, "spring"))
    assert str(told) == "mails that wait for people who have ended: 0 expected, 4 found"


@pytest.mark.parametrize("over", ["completed", "cancelled"])
@pytest.mark.parametrize("status", STILL_TO_GET_SOMETHING)
def test_a_campaign_that_is_over_before_everybody_has_ended_is_told(
    stage: Stage, status: EnrolmentStatus, over: str
) -> None:
    stage.settings()
    stage.launched("spring", 2)
    falsify(stage, f"UPDATE {{tables}}enrolments SET status = '{status}' WHERE prospect_id = 'p2'")
    assert stage.go_through(discrepancies(SHOP, "spring")) == ()
    falsify(stage, f"UPDATE {{tables}}campaigns SET status = '{over}'")

    [told] = stage.go_through(discrepancies(SHOP, "spring"))
    assert str(told) == f"people of the campaign, which is {over}, who have not ended: 0 expected, 2 found"


def test_books_of_which_people_and_mails_disagree_do_not_add_up(stage: Stage) -> None:
    """All have ended, the campaign is over, and their mails are as they were."""
    stage.settings()
    stage.launched("spring", 2, (0, 0))
    falsify(stage, "UPDATE {tables}enrolments SET status = 'completed' WHERE prospect_id = 'p1'")
    falsify(stage, "UPDATE {tables}enrolments SET status = 'stopped', reason = 'x' WHERE prospect_id = 'p2'")
    falsify(stage, "UPDATE {tables}campaigns SET status = 'completed'")

    [told] = stage.go_through(discrepancies(SHOP, "spring"))
    assert str(told) == "mails that wait for people who have ended: 0 expected, 4 found"


@pytest.mark.parametrize("people", [0, 1, 2, 3])
def test_books_add_up_while_a_cancellation_comes_to_its_people_but_for_those_to_whom_it_has_not_come(
    stage: Stage, people: int
) -> None:
    stage.settings()
    stage.launched("spring", 3, (0, 0))
    stage.run(cancel_campaign(SHOP, "spring"))
    if people:
        some_of(cancelled_through(SHOP, "spring", batch=1), stage, people)
    told = [str(each) for each in stage.go_through(discrepancies(SHOP, "spring"))]
    some_of(launch(SHOP, "spring", again=True, batch=1), stage, 2 + people)
    back = [str(each) for each in stage.go_through(discrepancies(SHOP, "spring"))]

    left = f"people to whom what was done to the campaign has not come yet: 0 expected, {3 - people} found"
    assert (told, back) == ([left] * (people < 3), [left] * (people < 3))


def test_a_draft_that_was_cancelled_adds_up(stage: Stage) -> None:
    """Nobody of it was launched, and nobody has to end."""
    stage.settings()
    stage.sender()
    stage.draft("spring", 2)
    stage.run(pause_prospect(SHOP, "spring", "p2"))
    stage.cancel()

    assert stage.go_through(discrepancies(SHOP, "spring")) == ()
    assert stage.run(headcount(SHOP, "spring")) == Headcount(enrolled=2, not_reached=2)


def falsify(stage: Stage, sql: str) -> None:
    with stage.outbox.transaction() as connection:
        connection.execute(sql.format(tables=stage.outbox.database.dialect.tables))


def test_who_waits_for_nothing_is_told(stage: Stage) -> None:
    """Nobody would ever conclude that they have ended, and the campaign would run for ever."""
    stage.settings()
    stage.launched("spring", 2, (0, 0))
    tables = stage.outbox.database.dialect.tables
    with stage.outbox.transaction() as connection:
        connection.execute(f"UPDATE {tables}campaign_mails SET state = 'stopped' WHERE prospect_id = 'p2' AND step = 1")

    [told] = stage.go_through(discrepancies(SHOP, "spring"))
    assert str(told) == "people who wait for mail of which nothing can leave: 0 expected, 1 found"

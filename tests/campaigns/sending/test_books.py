"""What a campaign says of itself: when its mails will leave, why they wait, and numbers that add up."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from postroom.campaigns import RampUp, SendingSettings
from postroom.campaigns.drafts.workspace import pause_sender
from postroom.campaigns.looking.explaining import explain
from postroom.campaigns.looking.standstill import standstill
from postroom.campaigns.looking.totals import discrepancies, totals_of
from postroom.campaigns.sending.acting import pause_campaign, pause_prospect
from postroom.campaigns.sending.launching import launch
from postroom.campaigns.sending.replanning import replan
from postroom.store.plan import Plan, ask
from postroom.store.suppressions import Stop, suppress
from postroom.vocabulary import SuppressionReason
from tests.campaigns.sending.stage import MONDAY, OFFICE, OPEN_ALWAYS, SHOP, Stage, dead, fails, in_doubt
from tests.campaigns.sending.test_launch import some_of


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


def test_who_waits_for_nothing_is_told(stage: Stage) -> None:
    """Nobody would ever conclude that they have ended, and the campaign would run for ever."""
    stage.settings()
    stage.launched("spring", 2, (0, 0))
    tables = stage.outbox.database.dialect.tables
    with stage.outbox.transaction() as connection:
        connection.execute(f"UPDATE {tables}campaign_mails SET state = 'stopped' WHERE prospect_id = 'p2' AND step = 1")

    [told] = stage.go_through(discrepancies(SHOP, "spring"))
    assert str(told) == "people who wait for mail of which nothing can leave: 0 expected, 1 found"

"""The rules of sending, by their numbers: windows, quotas, ramps, gaps, turns, pauses and stops."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from itertools import pairwise

import pytest

from postroom.campaigns import RampUp, SendingSettings, window_day_at
from postroom.campaigns.books.mails import ring
from postroom.campaigns.looking.explaining import explain
from postroom.campaigns.sending.acting import (
    pause_campaign,
    pause_prospect,
    resume_campaign,
    resume_prospect,
    stop_in_campaign,
)
from postroom.campaigns.stopping.stops import stop_prospect
from postroom.errors import InvalidCampaign, NotInWorkspace
from postroom.store import claims
from postroom.store.suppressions import Stop, suppress
from postroom.templates import budget
from postroom.vocabulary import (
    CampaignStatus,
    EnrolmentStatus,
    MailState,
    SuppressionReason,
    SuppressionScope,
    WaitReason,
)
from tests.campaigns.sending.stage import MONDAY, OFFICE, OPEN_ALWAYS, SHOP, Stage, dead, fails, miscounted, sent

WEEK = MONDAY + timedelta(days=7)


def keys(stage: Stage) -> list[str]:
    return [left.key for left in stage.log]


# ---------------------------------------------------------------- windows, quotas, ramps, gaps


def test_p1_nothing_leaves_outside_the_window(stage: Stage) -> None:
    stage.settings(replace(OFFICE, gap_seconds=(1800, 1800)))
    stage.launched("spring", 40)
    stage.send_until(WEEK)

    assert len(stage.log) == 40
    assert {window_day_at(OFFICE, left.at) is not None for left in stage.log} == {True}


def test_p3_nothing_leaves_on_a_holiday(stage: Stage) -> None:
    settings = replace(OFFICE, holidays=(date(2026, 3, 9), date(2026, 3, 11)))
    stage.settings(settings)
    stage.launched("spring", 2, (0, 1))
    stage.send_until(WEEK)

    assert sorted({left.at.day for left in stage.log}) == [10, 12]


def test_p4_no_more_than_the_quota_leaves_on_a_day_of_all_campaigns_together(stage: Stage) -> None:
    settings = replace(OFFICE, daily_quota=5)
    stage.settings(settings)
    stage.launched("spring", 6)
    stage.draft("summer", [f"q{n}" for n in range(6)])
    stage.launch("summer")
    stage.send_until(WEEK)

    assert list(stage.by_day(settings).values()) == [5, 5, 2]
    assert keys(stage)[:6] == [f"p{n}:spring-words:1" for n in range(1, 7)], "campaigns by their launch"


def test_p4_what_is_in_flight_counts(stage: Stage) -> None:
    stage.settings(replace(OFFICE, daily_quota=1))
    stage.launched("spring", 2)
    stage.clock.now = MONDAY.replace(hour=9)
    stage.claim()

    assert f"{stage.nothing_leaves():%a}" == "Tue"


def test_p4_a_quota_of_nothing_sends_nothing_until_somebody_changes_it(stage: Stage) -> None:
    stage.settings(replace(OFFICE, daily_quota=0))
    stage.launched("spring", 1)
    stage.clock.now = MONDAY.replace(hour=9)
    assert stage.nothing_leaves() is None

    stage.settings(OFFICE)
    stage.run(ring(SHOP))
    assert stage.send() == "p1:spring-words:1"


def test_p5_a_ramp_advances_by_days_with_mail_and_no_others(stage: Stage) -> None:
    settings = replace(OFFICE, daily_quota=4, ramp_up=RampUp(schedule=(1, 2)), sending_days=("mon", "thu"))
    stage.settings(settings)
    stage.launched("spring", 9)
    stage.send_until(MONDAY + timedelta(days=30))

    assert list(stage.by_day(settings).values()) == [1, 2, 4, 2]


def test_p5_a_day_on_which_nothing_was_accepted_does_not_advance_it(stage: Stage) -> None:
    settings = replace(OFFICE, daily_quota=9, ramp_up=RampUp(schedule=(1, 2)))
    stage.settings(settings)
    stage.launched("spring", 4)
    stage.send_until(MONDAY.replace(hour=20), fate=lambda email: fails(email, stage.clock.now, minutes=24 * 60))
    assert stage.log == []
    stage.send_until(MONDAY + timedelta(hours=36))

    assert list(stage.by_day(settings).values()) == [1]


def test_p6_the_gap_is_kept_between_all_mails_of_a_workspace(stage: Stage) -> None:
    settings = replace(OFFICE, gap_seconds=(30, 90))
    stage.settings(settings)
    stage.launched("spring", 10)
    stage.draft("summer", [f"q{n}" for n in range(10)])
    stage.launch("summer")
    stage.send_until(MONDAY.replace(hour=17))
    times = [left.at for left in stage.log]
    gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(times)]

    assert len(gaps) == 19
    assert min(gaps) >= 30
    assert max(gaps) <= 90
    assert len(set(gaps)) > 10, "chance chooses"


# ---------------------------------------------------------------- turns


def test_p8_due_follow_ups_go_before_new_prospects_the_oldest_first(stage: Stage) -> None:
    stage.settings(replace(OFFICE, daily_quota=2))
    stage.launched("spring", 5, (0, 1))
    stage.send_until(MONDAY + timedelta(days=4))

    assert keys(stage)[:8] == [
        "p1:spring-words:1", "p2:spring-words:1",
        "p1:spring-words:2", "p2:spring-words:2",
        "p3:spring-words:1", "p4:spring-words:1",
        "p3:spring-words:2", "p4:spring-words:2",
    ]  # fmt: skip


def test_p8_who_cannot_go_now_never_blocks_another(stage: Stage) -> None:
    stage.settings()
    stage.sender("grace", daily_quota=1)
    stage.sender("linus")
    stage.draft(prospects=5, senders=("grace", "linus"))
    stage.launch()
    found = [stage.send(), stage.send(), stage.send()]

    assert found == ["p1:spring-words:1", "p2:spring-words:1", "p4:spring-words:1"]
    assert f"{stage.nothing_leaves():%a %H:%M}" == "Tue 00:00"


def test_a_prospect_keeps_one_sender_for_the_whole_sequence(stage: Stage) -> None:
    stage.settings()
    stage.sender("grace")
    stage.sender("linus")
    stage.draft(prospects=4, delays=(0, 0), senders=("linus", "grace"))
    stage.launch()

    assert {(each.prospect_id, each.sender_id) for each in stage.mails()} == {
        ("p1", "linus"), ("p2", "grace"), ("p3", "linus"), ("p4", "grace"),
    }  # fmt: skip


def test_a_sender_s_own_ramp_holds_beside_the_workspace_s_quota(stage: Stage) -> None:
    stage.settings(OFFICE)
    stage.sender("grace", ramp_up=RampUp(schedule=(1, 2)))
    stage.draft(prospects=5)
    stage.launch()
    stage.send_until(WEEK)

    assert list(stage.by_day(OFFICE).values()) == [1, 2, 2]


def test_mail_whose_route_is_shut_here_is_left_to_others(stage: Stage) -> None:
    stage.settings()
    stage.launched("spring", 1)
    found = stage.tick(routes=["another"])

    assert (found.claimed, found.passed) == (None, SHOP)
    assert stage.tick(routes=["another"], passed=[SHOP]).worked is False
    assert stage.send("somebody else") == "p1:spring-words:1"


def test_a_person_gets_at_most_one_mail_within_so_many_hours(stage: Stage) -> None:
    stage.settings(person_hours=48)
    stage.launched("spring", 1)
    stage.draft("summer", ["p1", "p2"])
    stage.launch("summer")
    assert [stage.send(), stage.send()] == ["p1:spring-words:1", "p2:summer-words:1"]

    assert stage.nothing_leaves() == MONDAY + timedelta(hours=48)
    stage.clock.now = MONDAY + timedelta(hours=48)
    assert stage.send() == "p1:summer-words:1"


def test_a_person_is_left_alone_by_retries_too(stage: Stage) -> None:
    stage.settings(person_hours=24)
    stage.launched("spring", 1)
    stage.settle(fails(stage.claim(), stage.clock.now))
    stage.run(pause_campaign(SHOP, "spring"))
    stage.advance(hours=24)
    stage.draft("summer", ["p1"])
    stage.launch("summer")
    assert stage.send() == "p1:summer-words:1"
    stage.advance(hours=6)
    stage.go_through(resume_campaign(SHOP, "spring"))

    assert stage.nothing_leaves() == stage.log[-1].at + timedelta(hours=24)
    [waits] = stage.run(explain(SHOP, "spring"))
    assert waits.wait is not None
    assert waits.wait.until == stage.log[-1].at + timedelta(hours=24)
    stage.advance(hours=18)
    assert stage.send() == "p1:spring-words:1"


def test_a_person_is_left_alone_while_another_worker_has_a_mail_to_them_in_hand(stage: Stage) -> None:
    stage.settings(person_hours=24)
    stage.launched("spring", 1)
    stage.draft("summer", ["p1", "p2"])
    stage.launch("summer")
    stage.claim("anna")

    assert stage.key_of(stage.claim("ben").id) == "p2:summer-words:1"


def test_p8_new_prospects_follow_the_launches_of_their_campaigns_whatever_they_are_called(stage: Stage) -> None:
    stage.settings()
    stage.launched("zebra", 1)
    stage.advance(seconds=1)
    stage.draft("ant", ["q1"])
    stage.launch("ant")

    assert [stage.send(), stage.send()] == ["p1:zebra-words:1", "q1:ant-words:1"]


def test_two_workers_never_take_the_same_turn(stage: Stage) -> None:
    stage.settings()
    stage.launched("spring", 3)
    ids = [stage.claim(f"worker {n}").id for n in range(3)]

    assert len(set(ids)) == 3
    assert stage.nothing_leaves() is None


# ---------------------------------------------------------------- pauses


def test_p11_a_pause_stops_what_has_its_turn_and_a_resume_goes_on(stage: Stage) -> None:
    stage.settings()
    stage.launched("spring", 2)
    email = stage.claim()
    stage.run(pause_campaign(SHOP, "spring", reason="a typo"))

    objection = stage.objection(email)
    assert objection is not None
    assert objection.reason == "its campaign is paused"
    assert stage.nothing_leaves() is None
    assert (stage.campaign().status, stage.campaign().pause_reason) == (CampaignStatus.PAUSED, "a typo")
    stage.go_through(resume_campaign(SHOP, "spring"))
    assert stage.objection(email) is None
    assert stage.send() == "p2:spring-words:1"


def test_p11_waits_go_on_while_a_campaign_is_paused(stage: Stage) -> None:
    stage.settings(OFFICE)
    stage.launched("spring", 1, (0, 2))
    stage.clock.now = MONDAY.replace(hour=9)
    stage.send()
    stage.run(pause_campaign(SHOP, "spring"))
    stage.send_until(MONDAY + timedelta(days=4))
    assert len(stage.log) == 1

    stage.go_through(resume_campaign(SHOP, "spring"))
    stage.clock.now = MONDAY + timedelta(days=4, hours=2)
    assert stage.send() == "p1:spring-words:2"


def test_one_prospect_can_be_paused_and_go_on(stage: Stage) -> None:
    stage.settings()
    stage.launched("spring", 2, (0, 0))
    stage.run(pause_prospect(SHOP, "spring", "p1"))
    assert [stage.send(), stage.send()] == ["p2:spring-words:1", "p2:spring-words:2"]
    assert stage.nothing_leaves() is None
    stage.run(resume_prospect(SHOP, "spring", "p1"))

    assert [stage.send(), stage.send()] == ["p1:spring-words:1", "p1:spring-words:2"]


def test_a_step_that_is_sent_while_its_prospect_is_paused_lets_the_next_one_wait(stage: Stage) -> None:
    stage.settings()
    stage.launched("spring", 1, (0, 0))
    email = stage.claim()
    stage.run(pause_prospect(SHOP, "spring", "p1"))
    stage.settle(sent(email))
    assert stage.nothing_leaves() is None
    stage.run(resume_prospect(SHOP, "spring", "p1"))

    assert stage.send() == "p1:spring-words:2"


# ---------------------------------------------------------------- stops


def test_p12_a_stop_ends_all_that_waits_in_the_workspace_and_nothing_leaves_after_it(stage: Stage) -> None:
    stage.settings()
    stage.launched("spring", 2, (0, 0))
    stage.draft("summer", ["p1"])
    stage.launch("summer")
    email = stage.claim()
    stopped = stage.run(stop_prospect(SHOP, "P1@example.org", "unsubscribed", ends=EnrolmentStatus.UNSUBSCRIBED))

    assert (stopped.campaigns, stopped.mails) == (("spring", "summer"), 2)
    assert stage.objection(email).reason == "its prospect is unsubscribed"
    stage.settle(fails(email, stage.clock.now, minutes=0))
    assert [stage.send(), stage.send()] == ["p2:spring-words:1", "p2:spring-words:2"]
    assert stage.nothing_leaves() is None
    assert stage.outbox.get(email.id).status == "cancelled"
    assert stage.states("summer") == {"p1:summer-words:1": "stopped"}
    assert stage.campaign("summer").status is CampaignStatus.COMPLETED
    assert not stage.run(stop_prospect(SHOP, "p1@example.org", "unsubscribed"))


def test_p12_a_stop_cancels_what_waits_for_another_attempt(stage: Stage) -> None:
    stage.settings()
    stage.launched("spring", 1)
    email = stage.claim()
    stage.settle(fails(email, stage.clock.now))
    stopped = stage.run(stop_prospect(SHOP, "p1@example.org", "bounced", ends=EnrolmentStatus.BOUNCED))

    assert stopped.cancelled == (email.id,)
    assert stage.outbox.get(email.id).status == "cancelled"
    assert stage.nothing_leaves() is None
    assert stage.days() == {"2026-03-09": (0, 0)}
    assert stage.enrolments()["p1"].status is EnrolmentStatus.BOUNCED


def test_p12_a_reply_stops_one_campaign_and_leaves_the_others(stage: Stage) -> None:
    stage.settings()
    stage.launched("spring", 1)
    stage.draft("summer", ["p1"])
    stage.launch("summer")
    stage.run(stop_prospect(SHOP, "p1@example.org", "replied", campaign="spring", ends=EnrolmentStatus.REPLIED))

    assert stage.send() == "p1:summer-words:1"
    assert stage.nothing_leaves() is None
    assert stage.enrolments("spring")["p1"].status is EnrolmentStatus.REPLIED


def test_who_is_suppressed_after_the_launch_gets_nothing_more(stage: Stage) -> None:
    stage.settings()
    stage.launched("spring", 2)
    [entry] = stage.run(
        suppress(
            [
                Stop(
                    address="p1@example.org",
                    reason=SuppressionReason.UNSUBSCRIBE,
                    scope=SuppressionScope.WORKSPACE,
                    workspace=SHOP,
                )
            ]
        )
    )

    assert stage.send() == "p2:spring-words:1"
    assert stage.mail("p1:spring-words:1").reason == f"suppressed: {entry}"
    assert stage.enrolments()["p1"].status is EnrolmentStatus.UNSUBSCRIBED


def test_a_cancelled_campaign_sends_nothing_and_is_launched_again_only_on_purpose(stage: Stage) -> None:
    stage.settings()
    stage.launched("spring", 3, (0, 0))
    first = stage.send()
    email = stage.claim()
    stopped = stage.cancel()
    assert stopped.mails > 0
    stage.settle(fails(email, stage.clock.now, minutes=0))
    assert stage.nothing_leaves() is None
    assert stage.outbox.get(email.id).status == "cancelled"
    with pytest.raises(InvalidCampaign, match="--again"):
        stage.launch()
    stage.launch(again=True)
    stage.send_until(WEEK)

    assert stage.campaign().status is CampaignStatus.COMPLETED
    assert len(keys(stage)) == len(set(keys(stage)))
    assert first in keys(stage)


def test_stopping_one_prospect_of_a_campaign_by_hand(stage: Stage) -> None:
    stage.settings()
    stage.launched("spring", 2)
    assert stage.run(stop_in_campaign(SHOP, "spring", "p1", reason="a customer already")).mails == 1
    assert stage.send() == "p2:spring-words:1"

    assert stage.mail("p1:spring-words:1").reason == "a customer already"
    with pytest.raises(NotInWorkspace):
        stage.run(stop_in_campaign(SHOP, "spring", "nobody", reason=""))
    with pytest.raises(NotInWorkspace):
        stage.run(pause_campaign("another", "spring"))


def test_the_last_question_knows_that_the_window_has_closed(stage: Stage) -> None:
    """P9: checked at the claim and again at hand-over."""
    stage.settings(OFFICE)
    stage.launched("spring", 1)
    stage.clock.now = MONDAY.replace(hour=16, minute=59)
    email = stage.claim()
    assert stage.objection(email) is None
    stage.advance(minutes=2)
    objection = stage.objection(email)

    assert objection is not None
    assert objection.reason == "window_closed"
    assert timedelta(seconds=objection.seconds) == timedelta(hours=15, minutes=59)


def test_the_last_question_knows_that_today_has_become_a_holiday(stage: Stage) -> None:
    stage.settings(OFFICE)
    stage.launched("spring", 1)
    stage.clock.now = MONDAY.replace(hour=12)
    email = stage.claim()
    stage.settings(replace(OFFICE, holidays=(MONDAY.date(),)))

    objection = stage.objection(email)
    assert objection is not None
    assert objection.reason == "holiday"


def test_p9_the_last_question_knows_that_the_quota_was_lowered(stage: Stage) -> None:
    stage.settings(OPEN_ALWAYS)
    stage.launched(prospects=3)
    first, second = stage.claim(), stage.claim()
    assert stage.objection(first) is None

    stage.settings(replace(OPEN_ALWAYS, daily_quota=1))

    assert {stage.objection(first).reason, stage.objection(second).reason} == {"quota_used (1/1)"}
    stage.settings(replace(OPEN_ALWAYS, daily_quota=2))
    assert stage.objection(first) is None
    assert stage.objection(second) is None


def test_p9_what_a_lowered_quota_has_held_back_counts_no_more_and_leaves_on_another_day(stage: Stage) -> None:
    stage.settings(OPEN_ALWAYS)
    stage.launched(prospects=2)
    stage.send()
    held = stage.claim()
    stage.settings(replace(OPEN_ALWAYS, daily_quota=1))

    objection = stage.objection(held)
    assert objection is not None
    again = stage.clock.now + timedelta(seconds=objection.seconds)
    stage.run(claims.defer([held.claim], until=again, reason=objection.reason))
    stage.clock.now = again
    stage.nothing_leaves()

    assert stage.days() == {"2026-03-09": (1, 1)}
    stage.advance(days=1)
    assert stage.send() == stage.key_of(held.id)
    assert stage.outbox.get(held.id).attempts == 1
    assert not miscounted(stage)


def test_p9_the_last_question_knows_the_ramp_and_what_a_sender_may_send(stage: Stage) -> None:
    stage.settings(OPEN_ALWAYS)
    stage.launched(prospects=3)
    email, _ = stage.claim(), stage.claim()

    stage.settings(replace(OPEN_ALWAYS, ramp_up=RampUp(schedule=(1,))))
    assert stage.objection(email).reason == "ramp_day (1)"

    stage.settings(OPEN_ALWAYS)
    stage.sender(daily_quota=1)
    assert stage.objection(email).reason == "its sender may send 1 on this day"
    stage.sender(daily_quota=2)
    assert stage.objection(email) is None


def test_p9_a_mail_that_another_has_overtaken_keeps_the_gap_after_it(stage: Stage) -> None:
    """A server may be so slow that the next mail has its turn before the first one's dot."""
    stage.clock.now = MONDAY.replace(hour=10)
    stage.settings(OFFICE)
    stage.launched(prospects=2)
    slow = stage.claim()
    stage.advance(seconds=60)
    quick = stage.claim()
    stage.advance(seconds=15)

    objection = stage.objection(slow)

    assert objection is not None
    assert (objection.reason, objection.seconds) == ("gap", 45.0)
    assert stage.objection(quick) is None
    stage.advance(seconds=60)
    assert stage.objection(slow) is None


def test_p6_the_gap_is_kept_between_dots_where_a_server_is_slow(stage: Stage) -> None:
    """Claimed at 9:00:00 and accepted at 9:00:59, a mail keeps the next one waiting from then on."""
    stage.settings(OFFICE)
    stage.launched("spring", 3)
    stage.clock.now = MONDAY + timedelta(hours=1)
    slow = stage.claim("anna")
    stage.advance(seconds=59)
    assert stage.objection(slow) is None
    assert stage.objection(slow) is None, "asked again for the same dot, it does not stand in its own way"
    stage.settle(sent(slow))
    while (found := stage.tick()).worked:
        assert found.claimed is None

    assert found.next_at == stage.clock.now + timedelta(seconds=60)


def test_p6_of_two_mails_in_hand_the_one_that_comes_to_its_dot_later_keeps_the_gap(stage: Stage) -> None:
    stage.settings(OFFICE)
    stage.launched("spring", 3)
    stage.clock.now = MONDAY + timedelta(hours=1)
    slow = stage.claim("anna")
    stage.advance(seconds=60)
    quick = stage.claim("ben")
    stage.advance(seconds=60)
    assert stage.objection(slow) is None
    stage.advance(seconds=1)
    objection = stage.objection(quick)

    assert objection is not None
    assert objection.reason == "gap"
    stage.advance(seconds=59)
    assert stage.objection(quick) is None


def test_a_mail_that_takes_too_long_to_write_waits_and_keeps_nobody_from_leaving(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two seconds may pass on a busy machine without any fault of the words."""
    stage.settings()
    stage.launched("spring", 2)
    monkeypatch.setattr(budget, "SECONDS", -1.0)
    found = stage.tick()
    monkeypatch.undo()

    first = stage.mail("p1:spring-words:1")
    assert found.claimed is None
    assert (first.state, first.not_before) == (MailState.READY, stage.clock.now + timedelta(minutes=1))
    [waits, _] = stage.run(explain(SHOP, "spring"))
    assert waits.wait is not None
    assert waits.wait.reason is WaitReason.RENDERING
    assert stage.send() == "p2:spring-words:1"
    assert stage.tick().claimed is None
    stage.advance(minutes=1)
    assert stage.send() == "p1:spring-words:1"
    assert not miscounted(stage)


def test_dead_mail_frees_its_place_for_another_on_the_same_day(stage: Stage) -> None:
    settings = replace(OFFICE, daily_quota=1)
    stage.settings(settings)
    stage.launched("spring", 2)
    stage.clock.now = MONDAY.replace(hour=9)
    stage.settle(dead(stage.claim()))
    stage.send_until(MONDAY.replace(hour=10))

    assert keys(stage) == ["p2:spring-words:1"]


def test_settings_that_change_half_way_hold_from_then_on(stage: Stage) -> None:
    before = replace(OFFICE, daily_quota=2)
    after = SendingSettings(sending_days=("sat",), start_hour=20, end_hour=22, daily_quota=3, gap_seconds=(10, 10))
    stage.settings(before)
    stage.launched("spring", 6)
    stage.send_until(MONDAY.replace(hour=20))
    stage.settings(after)
    stage.run(ring(SHOP))
    stage.send_until(MONDAY + timedelta(days=14))

    assert [left.at.day for left in stage.log] == [9, 9, 14, 14, 14, 21]

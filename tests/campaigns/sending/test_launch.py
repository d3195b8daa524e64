"""Launch and schedule are one act: idempotent, resumable, safe from two places at once, honest about the skipped."""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import suppress as suppress_errors
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest

from postroom import Outbox
from postroom.campaigns import RampUp
from postroom.campaigns.drafts.campaigns import add_campaign
from postroom.campaigns.drafts.checking import Severity, check_draft
from postroom.campaigns.drafts.forecasting import forecast_of
from postroom.campaigns.drafts.passing import passed_in_words
from postroom.campaigns.drafts.readiness import insist_on_readiness
from postroom.campaigns.drafts.sequences import edit_sequence
from postroom.campaigns.looking.totals import discrepancies
from postroom.campaigns.sending.acting import (
    pause_campaign,
    pause_prospect,
    resume_campaign,
    resume_prospect,
    stop_in_campaign,
)
from postroom.campaigns.sending.launching import launch
from postroom.campaigns.sending.replanning import replan
from postroom.campaigns.stopping.stops import stop_prospect
from postroom.campaigns.stopping.suppressing import suppress_in_campaigns
from postroom.campaigns.values import Campaign, Sequence
from postroom.errors import InvalidCampaign, NotInWorkspace
from postroom.store.plan import Course, Plan, drive
from postroom.store.suppressions import Stop, suppress
from postroom.vocabulary import (
    CampaignStatus,
    EnrolmentStatus,
    LaunchStage,
    MailState,
    SuppressionReason,
    SuppressionScope,
)
from tests.campaigns.sending.stage import MONDAY, OFFICE, SHOP, Stage, fails, sent, step


def some_of(course: Course[object], stage: Stage, plans: int) -> None:
    """Carry out so many plans of a launch, and leave it there."""
    plan = next(course)
    for _ in range(plans - 1):
        plan = course.send(stage.run(plan))
    stage.run(plan)
    course.close()


def _going_on(course: Course[None], plan: Plan[Any]) -> Course[None]:
    """The rest of a course that has come to a plan."""
    with suppress_errors(StopIteration):
        while True:
            plan = course.send((yield plan))


def test_a_launch_writes_one_row_for_each_step_of_each_prospect(stage: Stage) -> None:
    stage.sender()
    stage.draft(prospects=3, delays=(0, 3, 4))
    launched = stage.launch(batch=2)

    assert (launched.scheduled, launched.skipped, launched.errors) == (9, {}, ())
    mails = stage.mails()
    assert [each.state for each in mails] == [MailState.READY, MailState.WAITING, MailState.WAITING] * 3
    assert [each.due_day for each in mails[:3]] == [date.min, None, None]
    assert len({each.id for each in mails}) == 9
    assert stage.campaign().status is CampaignStatus.RUNNING
    assert {(each.sequence_version, each.sender_id) for each in stage.enrolments().values()} == {(1, "grace")}


def test_launching_twice_schedules_nothing_more(stage: Stage) -> None:
    stage.launched("spring", 3)
    before = stage.mails()
    again = stage.launch()

    assert (again.scheduled, again.skipped) == (0, {"already_scheduled": 3})
    assert stage.mails() == before


@pytest.mark.parametrize("plans", [1, 2, 3])
def test_a_launch_that_broke_off_goes_on_where_it_was(stage: Stage, plans: int) -> None:
    stage.sender()
    stage.draft(prospects=5, delays=(0, 1))
    some_of(launch(SHOP, "spring", batch=2), stage, plans)
    stage.launch(batch=2)

    assert len(stage.mails()) == 10
    assert stage.campaign().launched_to == 5


def test_two_launches_at_once_share_the_work(stage: Stage) -> None:
    stage.sender()
    stage.draft(prospects=60, delays=(0, 1))
    results: list[int] = []

    def one() -> None:
        with Outbox(stage.outbox.database_url, clock=stage.clock) as outbox:
            results.append(drive(launch(SHOP, "spring", batch=7), outbox.database.run).scheduled)

    threads = [threading.Thread(target=one) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sum(results) == 120
    assert len({each.key for each in stage.mails()}) == 120


def test_a_pause_during_the_launch_is_honoured_from_that_row_on(stage: Stage) -> None:
    """Edge case 2: the campaign's status is looked at again with every batch."""
    stage.settings()
    stage.sender()
    stage.draft(prospects=4)
    some_of(launch(SHOP, "spring", batch=2), stage, 2)
    stage.run(pause_campaign(SHOP, "spring"))
    launched = stage.launch(batch=2)

    assert (launched.scheduled, launched.status) == (0, CampaignStatus.PAUSED)
    assert "paused" in launched.errors[0]
    assert len(stage.mails()) == 2
    assert stage.nothing_leaves() is None
    assert stage.go_through(resume_campaign(SHOP, "spring")).scheduled == 2
    assert stage.send() == "p1:spring-words:1"


def test_a_prospect_who_is_stopped_during_the_launch_gets_no_row(stage: Stage) -> None:
    """Edge case 3."""
    stage.settings()
    stage.sender()
    stage.draft(prospects=4)
    some_of(launch(SHOP, "spring", batch=2), stage, 2)
    stage.run(stop_prospect(SHOP, "p4@example.org", "unsubscribed", ends=EnrolmentStatus.UNSUBSCRIBED))
    launched = stage.launch(batch=2)

    assert launched.skipped == {"already_scheduled": 2, "unsubscribed": 1}
    assert [each.prospect_id for each in stage.mails()] == ["p1", "p2", "p3"]


def test_who_is_suppressed_is_skipped_with_the_entry_as_the_reason(stage: Stage) -> None:
    [entry] = stage.run(suppress([Stop(address="P2@example.org", reason=SuppressionReason.HARD_BOUNCE)]))
    stage.sender()
    stage.draft(prospects=3)
    launched = stage.launch()

    assert (launched.scheduled, launched.skipped) == (2, {"suppressed": 1})
    enrolment = stage.enrolments()["p2"]
    assert (enrolment.status, enrolment.reason) == (EnrolmentStatus.BOUNCED, f"suppressed: {entry}")
    assert stage.launch().skipped == {"already_scheduled": 2, "suppressed": 1}


def test_people_are_counted_and_not_the_numbers_between_them(stage: Stage) -> None:
    """Whoever is imported once more leaves a gap in the numbers of enrolment."""
    stage.sender()
    stage.draft(prospects=2)
    stage.enrol("spring", 3)
    stage.launch()
    assert stage.campaign().launched_to > 3

    assert stage.launch().skipped == {"already_scheduled": 3}


def test_the_same_sequence_in_another_campaign_reaches_nobody_twice(stage: Stage) -> None:
    """P13: the key is unique in the workspace, whichever campaign asks."""
    stage.launched("spring", 2)
    stage.draft("summer", ["p2", "p3"], sequence="other")
    stage.run(edit_sequence(SHOP, Sequence(id="spring-words", name="spring-words", steps=(step(1), step(2)))))
    from postroom.campaigns.drafts.campaigns import add_campaign
    from postroom.campaigns.values import Campaign

    stage.run(add_campaign(SHOP, Campaign(id="autumn", name="autumn", sequence_id="spring-words"), senders=["grace"]))
    stage.enrol("autumn", ["p2", "p3"])
    launched = stage.launch("autumn")

    assert (launched.scheduled, launched.skipped) == (2, {"already_scheduled": 1})
    assert {each.key for each in stage.mails("autumn")} == {"p3:spring-words:1", "p3:spring-words:2"}
    assert stage.enrolments("autumn")["p2"].reason == "already_scheduled"


def test_a_sequence_that_is_edited_after_the_launch_changes_nothing_for_those_who_are_in_it(stage: Stage) -> None:
    stage.settings()
    stage.launched("spring", 1)
    stage.run(edit_sequence(SHOP, Sequence(id="spring-words", name="x", steps=(step(1, subject="Other words"),))))

    assert stage.outbox.get(stage.claim().id).subject == "Hello P1"


def test_a_sequence_that_is_edited_during_the_launch_changes_nothing_for_those_who_are_launched_later(
    stage: Stage,
) -> None:
    """One launch, one version: nobody gets words that the check before it has not seen."""
    stage.settings()
    stage.sender()
    stage.draft(prospects=4, delays=(0, 1))
    some_of(launch(SHOP, "spring", batch=2), stage, 2)
    stage.run(edit_sequence(SHOP, Sequence(id="spring-words", name="x", steps=(step(1, subject="Other words"),))))
    launched = stage.launch(batch=2)

    assert launched.scheduled == 4
    assert {each.sequence_version for each in stage.mails()} == {1}
    assert {each.sequence_version for each in stage.enrolments().values()} == {1}
    assert [stage.send() for _ in range(4)] == [f"p{number}:spring-words:1" for number in range(1, 5)]
    assert {stage.outbox.get(each.id).subject for each in stage.log} == {f"Hello P{number}" for number in range(1, 5)}


def test_a_draft_that_somebody_else_launches_while_it_is_checked_is_no_error(stage: Stage) -> None:
    """Two launches at once: the check of the one finds a campaign that runs since a moment ago."""
    stage.sender()
    stage.draft(prospects=2)
    checking = insist_on_readiness(SHOP, "spring", now=stage.clock.now, rules=stage.outbox.rules, portals={})
    later = checking.send(stage.run(next(checking)))
    stage.launch()
    drive(_going_on(checking, later), stage.run)

    assert stage.campaign().status is CampaignStatus.RUNNING


def times(stage: Stage, campaign: str = "spring") -> list[str]:
    """When each step is to leave, by enrolment."""
    return [f"{each.planned_at:%a %-d}" if each.planned_at else "" for each in stage.mails(campaign)]


def test_a_launch_that_breaks_off_before_its_times_are_written_writes_them_the_next_time(stage: Stage) -> None:
    """P10, P13: all rows are there, and nobody knows when they leave."""
    stage.settings(OFFICE)
    stage.sender()
    stage.draft(prospects=3, delays=(0, 1))
    some_of(launch(SHOP, "spring"), stage, 3)
    assert len(stage.mails()) == 6
    assert set(times(stage)) == {""}
    again = stage.launch()

    assert again.scheduled == 0
    assert times(stage) == ["Mon 9", "Tue 10"] * 3


def test_times_are_worked_out_anew_when_a_campaign_is_resumed(stage: Stage) -> None:
    """P10: whenever the settings change, also where it was paused meanwhile."""
    stage.settings(OFFICE)
    stage.launched("spring", 2)
    stage.run(pause_campaign(SHOP, "spring"))
    stage.settings(replace(OFFICE, sending_days=("fri",)))
    stage.advance(days=7)
    stage.go_through(resume_campaign(SHOP, "spring"))

    assert times(stage) == ["Fri 20", "Fri 20"]


def test_times_go_by_the_version_that_people_are_pinned_to(stage: Stage) -> None:
    stage.settings(OFFICE)
    stage.launched("spring", 1, (0, 1, 1))
    stage.run(edit_sequence(SHOP, Sequence(id="spring-words", name="x", steps=(step(1), step(2, 9)))))
    stage.go_through(replan(SHOP))

    assert times(stage) == ["Mon 9", "Tue 10", "Wed 11"]


def test_times_know_what_was_sent_before_and_what_senders_may(stage: Stage) -> None:
    """P4, P5: two days into the ramp-up, with a sender of three a day."""
    stage.settings(replace(OFFICE, ramp_up=RampUp(schedule=(1, 1, 5))))
    stage.launched("early", ["q1", "q2"])
    stage.send_until(MONDAY + timedelta(days=2))
    stage.sender("linus", daily_quota=3)
    stage.draft(prospects=5, senders=("linus",))
    forecast = stage.run(forecast_of(SHOP, "spring", now=stage.clock.now))
    stage.launch()

    assert times(stage) == ["Wed 11"] * 3 + ["Thu 12"] * 2
    assert [(f"{day.day:%a %-d}", day.planned, day.allowance) for day in forecast.days] == [
        ("Wed 11", 3, 3),
        ("Thu 12", 2, 3),
    ]


def test_a_forecast_passes_over_whom_the_launch_passes_over_and_says_why(stage: Stage) -> None:
    stage.settings(OFFICE)
    stage.launched("early", ["p1"], sequence="words")
    stage.draft("spring", 5, (0, 1), sequence="letters")
    stage.draft("summer", 6, sequence="other")
    stage.run(stop_prospect(SHOP, "p2@example.org", "they called", campaign="spring"))
    listed = Stop(
        address="P3@example.org", reason=SuppressionReason.UNSUBSCRIBE, scope=SuppressionScope.WORKSPACE, workspace=SHOP
    )
    stage.run(suppress([listed]))
    stage.run(suppress_in_campaigns([replace(listed, address="p4@example.org")]))
    stage.run(add_campaign(SHOP, Campaign(id="again", name="again", sequence_id="words"), senders=["grace"]))
    stage.enrol("again", 2)
    for campaign in ("spring", "again", "summer"):
        forecast = stage.run(forecast_of(SHOP, campaign, now=stage.clock.now))
        checked = stage.go_through(check_draft(SHOP, campaign, now=stage.clock.now, routes=["default"], portals={}))
        launched = stage.launch(campaign)

        assert (forecast.mails, dict(forecast.skipped)) == (launched.scheduled, launched.skipped), campaign
        assert {each.problem: each.count for each in checked.problems if each.field == "prospects"} == {
            f"a launch would pass over some of them: {passed_in_words(reason)}": count
            for reason, count in launched.skipped.items()
        }

    assert forecast.skipped == {"suppressed": 2}


def test_ac2_a_launch_that_would_mail_nobody_is_foretold_and_no_error(stage: Stage) -> None:
    """It is over at once, and the draft is used up."""
    stage.settings(OFFICE)
    stage.launched("early", ["p1", "p2"], sequence="words")
    stage.run(add_campaign(SHOP, Campaign(id="again", name="again", sequence_id="words"), senders=["grace"]))
    stage.enrol("again", 3)
    stage.run(suppress([Stop(address="p3@example.org", reason=SuppressionReason.MANUAL, scope=SuppressionScope.ALL)]))
    now = stage.clock.now
    (found,) = stage.go_through(check_draft(SHOP, "again", now=now, routes=["default"], portals={})).problems

    assert (found.severity, found.field) == (Severity.WARNING, "prospects")
    assert found.problem == (
        "nobody would get anything; a launch would pass over all of them: "
        "have this sequence already (2), not to be mailed (1)"
    )
    assert found.remedy == "import others; who has this sequence already gets another one, in a draft of its own"
    stage.go_through(insist_on_readiness(SHOP, "again", now=now, rules=stage.outbox.rules, portals={}))
    launched = stage.launch("again")
    assert (launched.scheduled, launched.skipped) == (0, {"already_scheduled": 2, "suppressed": 1})
    assert stage.campaign("again").status is CampaignStatus.COMPLETED


def test_a_draft_that_was_cancelled_is_checked_before_it_is_launched_again(stage: Stage) -> None:
    """E10: nothing of it has ever passed a check."""
    stage.draft(prospects=1, senders=())
    stage.cancel()
    insisting = insist_on_readiness(SHOP, "spring", now=stage.clock.now, rules=stage.outbox.rules, portals={})
    with pytest.raises(InvalidCampaign) as refused:
        stage.go_through(insisting)

    assert refused.value.field == "senders"


def test_a_paused_campaign_of_which_nobody_is_left_is_over(stage: Stage) -> None:
    stage.settings()
    stage.launched("spring", 1)
    stage.run(pause_campaign(SHOP, "spring"))
    stage.run(stop_prospect(SHOP, "p1@example.org", "unsubscribed"))

    assert stage.campaign().status is CampaignStatus.COMPLETED


@pytest.mark.parametrize("plans", [0, 2], ids=["of a draft", "between two batches"])
def test_an_enrolment_that_was_paused_before_the_launch_waits_until_it_is_resumed(stage: Stage, plans: int) -> None:
    """Edge case 3: it gets its rows, and none of them has a turn."""
    stage.settings()
    stage.sender()
    stage.draft(prospects=3, delays=(0, 0))
    if plans:
        some_of(launch(SHOP, "spring", batch=1), stage, plans)
    stage.run(pause_prospect(SHOP, "spring", "p3"))
    launched = stage.launch()

    assert launched.scheduled == 6 - plans
    assert (stage.enrolments()["p3"].status, stage.enrolments()["p3"].sequence_version) == (EnrolmentStatus.PAUSED, 1)
    assert [stage.states()[f"p3:spring-words:{step}"] for step in (1, 2)] == ["waiting", "waiting"]
    stage.send_until(MONDAY + timedelta(days=1))
    assert {each.key for each in stage.log} == {f"p{n}:spring-words:{step}" for n in (1, 2) for step in (1, 2)}
    assert stage.campaign().status is CampaignStatus.RUNNING, "somebody is still to get something"
    assert stage.go_through(discrepancies(SHOP, "spring")) == ()

    stage.run(resume_prospect(SHOP, "spring", "p3"))
    assert stage.enrolments()["p3"].status is EnrolmentStatus.ACTIVE
    assert [stage.send(), stage.send()] == ["p3:spring-words:1", "p3:spring-words:2"]
    stage.nothing_leaves()
    assert stage.campaign().status is CampaignStatus.COMPLETED


def test_who_is_resumed_before_the_launch_reaches_them_is_launched_like_anybody(stage: Stage) -> None:
    stage.settings()
    stage.sender()
    stage.draft(prospects=1)
    stage.run(pause_prospect(SHOP, "spring", "p1"))
    stage.run(resume_prospect(SHOP, "spring", "p1"))
    assert stage.enrolments()["p1"].status is EnrolmentStatus.ENROLLED, "neither version nor sender is settled"
    stage.launch()

    assert stage.send() == "p1:spring-words:1"


def test_who_was_paused_before_a_launch_that_was_cancelled_is_so_when_it_goes_on(stage: Stage) -> None:
    stage.settings()
    stage.sender()
    stage.draft(prospects=3)
    some_of(launch(SHOP, "spring", batch=1), stage, 2)
    stage.run(pause_prospect(SHOP, "spring", "p3"))
    stage.cancel()
    assert stage.run(forecast_of(SHOP, "spring", now=stage.clock.now)).prospects == 2
    launched = stage.launch(again=True)

    assert (launched.scheduled, launched.revived, launched.skipped) == (2, 1, {})
    assert [stage.send(), stage.send()] == ["p1:spring-words:1", "p2:spring-words:1"]
    stage.nothing_leaves()
    assert stage.enrolments()["p3"].status is EnrolmentStatus.PAUSED


@pytest.mark.parametrize("paused", [False, True], ids=["enrolled", "paused"])
@pytest.mark.parametrize("plans", [0, 2], ids=["of a draft", "between two batches"])
def test_who_is_stopped_before_the_launch_gets_no_row(stage: Stage, plans: int, paused: bool) -> None:
    stage.settings()
    stage.sender()
    stage.draft(prospects=3)
    if plans:
        some_of(launch(SHOP, "spring", batch=1), stage, plans)
    if paused:
        stage.run(pause_prospect(SHOP, "spring", "p3"))
    stage.run(stop_in_campaign(SHOP, "spring", "p3", reason="they called"))
    launched = stage.launch()

    assert launched.skipped["stopped"] == 1
    assert [each.prospect_id for each in stage.mails()] == ["p1", "p2"]
    assert stage.enrolments()["p3"].reason == "they called"
    for act in (pause_prospect, resume_prospect):
        with pytest.raises(InvalidCampaign, match="is stopped in this campaign"):
            stage.run(act(SHOP, "spring", "p3"))


def test_a_forecast_of_a_draft_leaves_out_who_is_paused_and_a_launch_does_not_pass_over_them(stage: Stage) -> None:
    stage.settings(OFFICE)
    stage.sender()
    stage.draft(prospects=4, delays=(0, 1))
    for prospect in ("p2", "p3"):
        stage.run(pause_prospect(SHOP, "spring", prospect))
    stage.run(suppress([Stop(address="p3@example.org", reason=SuppressionReason.MANUAL)]))
    forecast = stage.run(forecast_of(SHOP, "spring", now=stage.clock.now))
    launched = stage.launch()
    stage.send_until(MONDAY + timedelta(days=4))

    assert (forecast.prospects, forecast.mails, forecast.skipped) == (2, 4, {"suppressed": 1})
    assert (launched.scheduled, launched.skipped) == (6, {"suppressed": 1})
    assert len(stage.log) == 4, "as was foreseen"


def test_a_campaign_that_was_cancelled_during_its_launch_is_launched_whole_on_purpose(stage: Stage) -> None:
    stage.settings()
    stage.sender()
    stage.draft(prospects=4, delays=(0, 0))
    some_of(launch(SHOP, "spring", batch=2), stage, 2)
    stage.send()
    stage.cancel()
    assert {each.status for each in stage.enrolments().values()} == {EnrolmentStatus.STOPPED}
    stage.nothing_leaves()
    launched = stage.launch(again=True)

    assert (launched.scheduled, launched.revived, launched.skipped) == (4, 3, {})
    assert len([stage.send() for _ in range(7)]) == 7
    stage.nothing_leaves()
    assert stage.campaign().status is CampaignStatus.COMPLETED
    assert len({left.key for left in stage.log}) == 8


def test_only_what_leaves_after_all_counts_as_revived(stage: Stage) -> None:
    """An email that was cancelled stays so, and with it what would have followed."""
    stage.settings()
    stage.launched("spring", 3, (0, 1))
    stage.send()
    email = stage.claim()
    stage.cancel()
    stage.settle(fails(email, stage.clock.now, minutes=0))
    stage.nothing_leaves()
    launched = stage.launch(again=True)

    assert (launched.scheduled, launched.revived, launched.skipped) == (0, 3, {"already_scheduled": 1})
    assert sorted(stage.states().values()) == ["ready", "ready", "sent", "stopped", "stopped", "waiting"]


def test_what_was_cancelled_a_moment_ago_does_not_count_as_revived(stage: Stage) -> None:
    """No worker has looked since."""
    stage.settings()
    stage.launched("spring", 1, (0, 0))
    email = stage.claim()
    stage.settle(fails(email, stage.clock.now))
    stage.cancel()
    launched = stage.launch(again=True)

    assert (launched.revived, launched.skipped) == (0, {"already_scheduled": 1})
    assert launched.status is CampaignStatus.COMPLETED


def test_what_had_been_cancelled_is_sent_after_all_when_somebody_says_so(stage: Stage) -> None:
    """The campaign was launched again and the email replayed: nothing speaks against it, or against what follows."""
    stage.settings()
    stage.launched("spring", 1, (0, 0))
    email = stage.claim()
    stage.settle(fails(email, stage.clock.now))
    stage.nothing_leaves()
    stage.cancel()
    stage.launch(again=True)
    stage.outbox.replay(email.id)
    stage.send_until(MONDAY + timedelta(days=1))

    assert [each.key for each in stage.log] == ["p1:spring-words:1", "p1:spring-words:2"]
    assert stage.campaign().status is CampaignStatus.COMPLETED
    assert stage.go_through(discrepancies(SHOP, "spring")) == ()


def test_what_left_in_spite_of_a_cancel_is_not_forecast_again(stage: Stage) -> None:
    stage.settings(OFFICE)
    stage.clock.now = MONDAY + timedelta(hours=1)
    stage.launched("spring", 1, (0, 1))
    email = stage.claim()
    stage.cancel()
    stage.settle(sent(email))
    stage.nothing_leaves()
    stage.launch(again=True)

    assert stage.run(forecast_of(SHOP, "spring", now=stage.clock.now)).mails == 1
    assert stage.enrolments()["p1"].next_step == 2


def test_who_got_everything_in_spite_of_a_cancel_has_completed_it_when_it_is_launched_again(stage: Stage) -> None:
    stage.settings()
    stage.launched("spring", 2)
    email = stage.claim()
    stage.cancel()
    stage.settle(sent(email))
    stage.nothing_leaves()
    assert stage.enrolments()["p1"].reason == "campaign_cancelled"
    stage.launch(again=True)

    assert {id: each.status.value for id, each in stage.enrolments().items()} == {"p1": "completed", "p2": "active"}
    assert stage.go_through(discrepancies(SHOP, "spring")) == ()


def test_another_workspace_s_campaign_cannot_be_launched(stage: Stage) -> None:
    stage.launched("spring", 1)
    with pytest.raises(NotInWorkspace):
        stage.go_through(launch("another", "spring"))


def test_a_launch_tells_how_far_it_has_come(stage: Stage) -> None:
    stage.sender()
    stage.draft(prospects=5)
    told: Counter[LaunchStage] = Counter()
    stage.launch(batch=2, progress=lambda at, count: told.update({at: count}))

    assert told == {LaunchStage.LAUNCHING: 5, LaunchStage.PLANNING: 5}

"""Campaigns are cancelled, and launched again, by their status; what follows comes to their people some at a time.

Whatever happens in between, and whoever is killed, nothing leaves that is not to, and somebody else does the rest.
"""

from __future__ import annotations

from datetime import timedelta
from random import Random

import pytest

from postroom.campaigns.looking.totals import discrepancies, totals_of
from postroom.campaigns.sending.acting import cancel_campaign, cancelled_through, pause_prospect, stop_in_campaign
from postroom.campaigns.sending.carrying import carried_through
from postroom.campaigns.sending.launching import launch
from postroom.errors import InvalidCampaign
from postroom.store.plan import Course
from postroom.vocabulary import CampaignStatus, EnrolmentStatus, Status
from tests.campaigns.sending.stage import MONDAY, SHOP, Stage, dead, fails, miscounted, sent
from tests.campaigns.sending.test_launch import some_of

LATER = MONDAY + timedelta(days=3)


@pytest.fixture
def four(stage: Stage) -> Stage:
    """Four people, who get two mails each."""
    stage.settings()
    stage.launched("spring", 4, (0, 0))
    return stage


def cut_short(stage: Stage, course: Course[object], batches: int) -> None:
    some_of(course, stage, batches)


def cancelled(stage: Stage, people: int) -> None:
    """It is cancelled, and whoever did so is killed when that has come to so many."""
    assert stage.run(cancel_campaign(SHOP, "spring"))
    if people:
        cut_short(stage, cancelled_through(SHOP, "spring", batch=1), people)


def launched_again(stage: Stage, people: int) -> None:
    """It is launched again, and whoever did so is killed when that has come to so many."""
    cut_short(stage, launch(SHOP, "spring", again=True, batch=1), 2 + people)


def statuses(stage: Stage) -> list[str]:
    return [each.status.value for each in stage.enrolments().values()]


def told(stage: Stage) -> list[str]:
    return [str(each) for each in stage.go_through(discrepancies(SHOP, "spring"))]


# ---------------------------------------------------------------- cancelled


@pytest.mark.parametrize("people", [0, 2])
def test_from_the_moment_it_is_cancelled_nothing_leaves(four: Stage, people: int) -> None:
    email = four.claim()
    cancelled(four, people)

    assert four.campaign().status is CampaignStatus.CANCELLED
    assert statuses(four) == ["stopped"] * people + ["active"] * (4 - people)
    assert four.objection(email) is not None
    four.settle(fails(email, four.clock.now, minutes=0))
    four.send_until(LATER)
    assert four.log == []


@pytest.mark.parametrize("people", [0, 2])
def test_a_look_does_the_rest_of_what_was_cancelled(four: Stage, people: int) -> None:
    cancelled(four, people)
    [missing] = told(four)
    assert missing.endswith(f"not come yet: 0 expected, {4 - people} found")
    four.nothing_leaves()

    assert statuses(four) == ["stopped"] * 4
    assert four.run(totals_of(SHOP, "spring")).stopped == {"campaign_cancelled": 8}
    assert told(four) == []


def test_other_campaigns_have_their_turns_while_what_was_cancelled_comes_to_its_people(four: Stage) -> None:
    four.draft("summer", ["s1"])
    four.launch("summer")
    cancelled(four, 0)
    found = four.tick()

    assert found.claimed is not None
    assert four.key_of(found.claimed.id) == "s1:summer-words:1"
    assert statuses(four) == ["stopped"] * 4, "the same look has come to them"


def test_the_same_act_again_does_the_rest_and_tells_of_the_whole(four: Stage) -> None:
    four.send()
    four.tick()
    cancelled(four, 2)
    stopped = four.cancel()

    assert stopped.mails == 7
    assert statuses(four) == ["stopped"] * 4
    assert not four.cancel()
    assert told(four) == []


def test_what_was_cancelled_says_so_also_where_it_has_not_come_yet(four: Stage) -> None:
    """A mail in hand comes back before anybody has told its person's enrolment."""
    email = four.claim()
    cancelled(four, 0)
    four.settle(fails(email, four.clock.now))
    four.tick()
    four.nothing_leaves()

    assert four.mail("p1:spring-words:1").reason == "campaign_cancelled"
    assert four.outbox.get(email.id).status is Status.CANCELLED
    assert {each.reason for each in four.enrolments().values()} == {"campaign_cancelled"}


# ---------------------------------------------------------------- launched again


def test_who_is_brought_back_already_has_their_turn_and_nobody_else(four: Stage) -> None:
    four.cancel()
    launched_again(four, 2)

    assert statuses(four) == ["active", "active", "stopped", "stopped"]
    assert four.campaign().status is CampaignStatus.RUNNING
    assert told(four)[0].endswith("not come yet: 0 expected, 2 found")
    for prospect in ("p1", "p2"):
        four.run(stop_in_campaign(SHOP, "spring", prospect, reason="asked on the phone"))
    assert four.campaign().status is CampaignStatus.RUNNING, "there are two more"
    four.send_until(LATER)
    assert sorted(each.key.replace(":spring-words", "") for each in four.log) == ["p3:1", "p3:2", "p4:1", "p4:2"]
    assert four.campaign().status is CampaignStatus.COMPLETED
    assert told(four) == []


def test_the_same_launch_again_does_the_rest_and_tells_of_the_whole(four: Stage) -> None:
    four.cancel()
    launched_again(four, 2)
    launched = four.launch(again=True)

    assert (launched.revived, launched.scheduled, launched.skipped) == (8, 0, {})
    assert statuses(four) == ["active"] * 4
    assert all(each.planned_at for each in four.mails())


def test_a_launch_that_goes_on_brings_everybody_back_before_it_comes_to_the_new(stage: Stage) -> None:
    stage.settings()
    stage.sender()
    stage.draft(prospects=4)
    some_of(launch(SHOP, "spring", batch=2), stage, 2)
    stage.cancel()
    launched_again(stage, 1)
    launched = stage.launch()

    assert (launched.revived, launched.scheduled, launched.skipped) == (2, 2, {})
    assert statuses(stage) == ["active"] * 4


def test_what_fails_for_now_before_its_person_is_brought_back_is_tried_again_after_that(four: Stage) -> None:
    email = four.claim()
    four.cancel()
    launched_again(four, 0)
    four.settle(fails(email, four.clock.now, minutes=0))
    four.send_until(LATER)

    assert len({each.key for each in four.log}) == len(four.log) == 8
    assert four.campaign().status is CampaignStatus.COMPLETED


# ---------------------------------------------------------------- in the middle


def test_what_is_cancelled_while_it_is_launched_again_is_cancelled_whole(four: Stage) -> None:
    four.cancel()
    launched_again(four, 2)
    assert four.cancel().mails == 4

    assert statuses(four) == ["stopped"] * 4
    four.send_until(LATER)
    assert four.log == []
    assert told(four) == []


def test_what_is_launched_again_while_it_is_cancelled_is_launched_whole(four: Stage) -> None:
    four.run(pause_prospect(SHOP, "spring", "p1"))
    cancelled(four, 2)
    assert four.launch(again=True).revived == 4

    assert statuses(four) == ["paused", "active", "active", "active"]
    four.send_until(LATER)
    assert len({each.key for each in four.log}) == len(four.log) == 6
    assert told(four) == []


def test_a_mail_that_came_back_in_the_middle_of_a_cancel_leaves_nobody_waiting_for_ever(four: Stage) -> None:
    """Its email is cancelled before its person is told, and the campaign launched again before that."""
    email = four.claim()
    cancelled(four, 0)
    four.settle(fails(email, four.clock.now))
    four.launch(again=True)
    assert told(four) == []
    four.send_until(LATER)

    assert len(four.log) == 6
    assert four.campaign().status is CampaignStatus.COMPLETED
    assert told(four) == []


@pytest.mark.parametrize("seed", range(6))
def test_whatever_is_done_in_whatever_order_nobody_is_mailed_twice_or_after_a_stop(stage: Stage, seed: int) -> None:
    random = Random(seed)
    stage.settings()
    stage.launched("spring", 8, (0, 0, 0))
    stopped: dict[str, int] = {}
    for _ in range(60):
        status = stage.campaign().status
        people = random.randrange(9)
        act = random.choice(["look", "look", "look", "cancel", "again", "go on", "stop", "pause", "replay"])
        if act == "cancel" and status in (CampaignStatus.RUNNING, CampaignStatus.PAUSED):
            cancelled(stage, min(people, 7))
        elif act == "again" and status is CampaignStatus.CANCELLED:
            launched_again(stage, 0)
        elif act == "go on":
            stage.go_through(carried_through(SHOP, "spring", batch=3))
        elif act == "stop" and len(stopped) < 3:
            prospect = f"p{people % 8 + 1}"
            before = stage.enrolments()[prospect]
            if before.status is not EnrolmentStatus.COMPLETED:
                stage.run(stop_in_campaign(SHOP, "spring", prospect, reason="asked on the phone"))
                stopped.setdefault(prospect, len(stage.log))
        elif act == "replay":
            for mail in stage.mails():
                if mail.email_status in (Status.DEAD, Status.CANCELLED) and random.random() < 0.5:
                    stage.outbox.replay(mail.id)
        elif act == "pause":
            try:
                stage.run(pause_prospect(SHOP, "spring", f"p{people % 8 + 1}"))
            except InvalidCampaign:
                continue
        elif (found := stage.tick()).claimed is not None:
            fate = random.choice([sent, sent, dead, lambda email: fails(email, stage.clock.now, minutes=0)])
            stage.settle(fate(found.claimed))
        assert not [each for each in told(stage) if "not come yet" not in each]
    if stage.campaign().status is CampaignStatus.CANCELLED:
        stage.launch(again=True)
    stage.send_until(LATER)

    keys = [each.key for each in stage.log]
    assert len(keys) == len(set(keys))
    for prospect, before in stopped.items():
        assert not [key for key in keys[before:] if key.startswith(f"{prospect}:")]
    assert told(stage) == []
    assert miscounted(stage) == []
    paused = EnrolmentStatus.PAUSED.value in statuses(stage)
    assert stage.campaign().status is (CampaignStatus.RUNNING if paused else CampaignStatus.COMPLETED)

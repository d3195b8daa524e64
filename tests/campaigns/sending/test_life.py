"""The life of a mail: launched, its turn, what the server says, and what follows from that."""

from __future__ import annotations

from datetime import timedelta

import pytest

from postroom.campaigns.drafts.prospects import Arrival, take_in
from postroom.campaigns.values import Prospect
from postroom.compose.letter import Letter
from postroom.store import claims
from postroom.store.contract import Claimed
from postroom.vocabulary import CampaignStatus, EnrolmentStatus, Priority
from tests.campaigns.sending.stage import MONDAY, OFFICE, SHOP, Stage, dead, fails, in_doubt, sent, step
from tests.store.journey import retrying, take_over


def letter_of(email: Claimed) -> Letter:
    return Letter.thaw(
        subject=email.subject,
        message_id=email.message_id,
        envelope=email.envelope,
        text=email.text,
        html=email.html,
        attachments=email.attachments,
    )


def test_a_launched_campaign_sends_each_step_to_each_prospect_once(stage: Stage) -> None:
    stage.settings()
    stage.launched(delays=(0, 0))
    sent = [stage.send() for _ in range(6)]

    assert sorted(sent) == sorted(f"p{n}:spring-words:{step}" for n in (1, 2, 3) for step in (1, 2))
    assert stage.nothing_leaves() is None
    assert set(stage.states().values()) == {"sent"}
    assert stage.campaign().status is CampaignStatus.COMPLETED
    assert {each.status for each in stage.enrolments().values()} == {EnrolmentStatus.COMPLETED}
    assert stage.days() == {"2026-03-09": (6, 6)}


def test_a_mail_is_an_email_like_any_other_in_a_lane_of_its_own(stage: Stage) -> None:
    stage.settings()
    stage.launched()
    email = stage.claim()
    stored = stage.outbox.get(email.id)

    assert (email.priority, email.inline, email.on_doubt) == (Priority.CAMPAIGN, False, "hold")
    assert (stored.status, stored.kind, stored.workspace, stored.subject) == ("sending", "campaign", "shop", "Hello P1")
    assert stored.key == "p1:spring-words:1"


def test_a_follow_up_waits_so_many_days_from_the_actual_send(stage: Stage) -> None:
    """P7: calendar days from the window day on which the step before really left."""
    stage.settings(OFFICE)
    stage.launched("spring", 1, (0, 2))
    stage.clock.now = stage.nothing_leaves()
    stage.advance(hours=5)  # an outage: the step leaves in the afternoon
    assert stage.send() == "p1:spring-words:1"

    due = stage.nothing_leaves()
    assert f"{due:%a %H:%M}" == "Wed 09:00"
    stage.clock.now = due
    assert stage.send() == "p1:spring-words:2"


def test_a_follow_up_that_is_due_on_a_closed_day_waits_for_the_next_window(stage: Stage) -> None:
    stage.settings(OFFICE)
    stage.launched("spring", 1, (0, 5))
    stage.clock.now = stage.nothing_leaves()
    stage.send()

    assert f"{stage.nothing_leaves():%a %d %H:%M}" == "Mon 16 09:00"


def test_a_follow_up_answers_in_the_thread_of_what_was_really_sent(stage: Stage) -> None:
    """P14: `Re:` and the headers of a thread, from the same sender, unless the step has a subject of its own."""
    stage.settings()
    stage.sender("grace", name="Grace")
    own = [step(1), step(2), step(3), step(4, subject="One more thing"), step(5)]
    stage.draft(prospects=1, steps=own)
    stage.launch()
    letters = []
    for _ in own:
        email = stage.claim()
        letters.append(letter_of(email))
        stage.settle(sent(email))
    first, second, third, fourth, fifth = letters

    assert [each.subject for each in letters] == [
        "Hello P1", "Re: Hello P1", "Re: Hello P1", "One more thing", "Re: One more thing",
    ]  # fmt: skip
    assert dict(first.headers).keys().isdisjoint({"In-Reply-To", "References"})
    assert dict(second.headers)["In-Reply-To"] == dict(second.headers)["References"] == first.message_id
    assert dict(third.headers)["In-Reply-To"] == second.message_id
    assert dict(third.headers)["References"] == f"{first.message_id} {second.message_id}"
    assert dict(fourth.headers).keys().isdisjoint({"In-Reply-To", "References"})
    assert dict(fifth.headers)["References"] == fourth.message_id
    assert {each.senders[0] for each in letters} == {("Grace", "grace@shop.example")}


def test_a_failure_for_now_gives_the_quota_back_and_the_mail_asks_for_its_turn_again(stage: Stage) -> None:
    stage.settings()
    stage.launched("spring", 1)
    email = stage.claim()
    assert stage.days() == {"2026-03-09": (1, 0)}
    stage.settle(fails(email, stage.clock.now))
    due = stage.nothing_leaves()

    assert due == stage.clock.now.replace(second=0, microsecond=0) + timedelta(minutes=5)
    assert stage.days() == {"2026-03-09": (0, 0)}
    stage.clock.now = due
    again = stage.claim()
    assert (again.id, again.attempts) == (email.id, 1)
    assert stage.days() == {"2026-03-09": (1, 0)}


def test_a_retry_obeys_the_window_too(stage: Stage) -> None:
    """P9: retries not handed over by closing wait for the next window."""
    stage.settings(OFFICE)
    stage.launched("spring", 1)
    stage.clock.now = MONDAY.replace(hour=16, minute=58)
    stage.settle(fails(stage.claim(), stage.clock.now))
    assert f"{stage.nothing_leaves():%H:%M}" == "17:03"
    stage.clock.now = MONDAY.replace(hour=17, minute=3)

    assert f"{stage.nothing_leaves():%a %H:%M}" == "Tue 09:00"


def test_what_the_server_refuses_for_good_ends_the_enrolment_and_frees_the_quota(stage: Stage) -> None:
    stage.settings()
    stage.launched("spring", 1, (0, 0))
    stage.settle(dead(stage.claim()))
    assert stage.nothing_leaves() is None

    assert stage.states() == {"p1:spring-words:1": "dead", "p1:spring-words:2": "stopped"}
    assert stage.mail("p1:spring-words:2").reason == "previous_step"
    assert stage.enrolments()["p1"].status is EnrolmentStatus.STOPPED
    assert stage.days() == {"2026-03-09": (0, 0)}
    assert stage.campaign().status is CampaignStatus.COMPLETED


def test_what_a_person_retries_goes_on_where_it_ended(stage: Stage) -> None:
    stage.settings()
    stage.launched("spring", 1, (0, 0))
    email = stage.claim()
    stage.settle(dead(email))
    stage.nothing_leaves()
    stage.outbox.retry(email.id)

    assert [stage.send(), stage.send()] == ["p1:spring-words:1", "p1:spring-words:2"]
    stage.nothing_leaves()
    assert stage.campaign().status is CampaignStatus.COMPLETED


def test_a_mail_in_doubt_stays_counted_and_nothing_follows(stage: Stage) -> None:
    """P4: nobody knows whether it was sent, and so it is neither sent again nor taken off the quota."""
    stage.settings()
    stage.launched("spring", 1, (0, 0))
    email = stage.claim()
    stage.settle(in_doubt(email, None))

    assert stage.nothing_leaves() is None
    assert stage.days() == {"2026-03-09": (1, 0)}
    assert stage.states() == {"p1:spring-words:1": "leaving", "p1:spring-words:2": "waiting"}


def test_what_a_person_cancels_in_the_outbox_stops_its_prospect(stage: Stage) -> None:
    stage.settings()
    stage.launched("spring", 1, (0, 0))
    email = stage.claim()
    stage.settle(fails(email, stage.clock.now))
    stage.outbox.cancel(email.id)
    stage.nothing_leaves()

    assert stage.states() == {"p1:spring-words:1": "stopped", "p1:spring-words:2": "stopped"}
    assert stage.mail("p1:spring-words:1").reason == "cancelled"
    assert stage.days() == {"2026-03-09": (0, 0)}


@pytest.mark.parametrize("keep", [True, False])
def test_it_does_not_matter_whether_sent_emails_are_kept(stage: Stage, keep: bool) -> None:
    stage.settings()
    stage.launched("spring", 1, (0, 0))
    stage.run(claims.settle([sent(stage.claim())], keep_sent=keep))

    assert stage.send() == "p1:spring-words:2"
    assert stage.days() == {"2026-03-09": (2, 1)}


def test_a_mail_that_cannot_be_written_hurts_nobody_else(stage: Stage) -> None:
    stage.settings()
    stage.sender()
    stage.draft(prospects=2, steps=[step(1, text="{{ company }}")])
    stage.run(
        take_in(
            SHOP,
            [Arrival(Prospect(id="p2", address="p2@example.org", fields={"company": "Analytical Engines"}), True)],
            update=True,
        )
    )
    stage.launch()

    assert stage.send() == "p2:spring-words:1"
    assert stage.states() == {"p1:spring-words:1": "dead", "p2:spring-words:1": "leaving"}
    assert "company" in (stage.mail("p1:spring-words:1").reason or "")


def test_a_dead_worker_s_mail_comes_back_and_is_gated_again(stage: Stage) -> None:
    stage.settings()
    stage.launched("spring", 1)
    email = stage.claim("first")
    stage.advance(minutes=1)
    [lost] = take_over(stage.outbox)
    stage.settle(retrying(lost, stage.clock.now, event="taken_over"))

    assert lost.id == email.id
    assert stage.send("second") == "p1:spring-words:1"
    assert len(stage.log) == 1

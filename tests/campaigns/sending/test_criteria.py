"""What was asked of scheduled emails: six criteria and eight edge cases, each by its name, on both stores."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from postroom import Outbox
from postroom.accounts.audit import read_audit
from postroom.campaigns import RampUp, SendingSettings, StepKey, window_day_at
from postroom.campaigns.drafts.campaigns import add_campaign
from postroom.campaigns.sending.acting import pause_campaign, pause_prospect, resume_campaign, resume_prospect
from postroom.campaigns.sending.launching import launch
from postroom.campaigns.values import Campaign
from postroom.config import load
from postroom.errors import InvalidCampaign
from postroom.operate.campaigns import CampaignOperations
from postroom.store.plan import Plan, ask_sql
from postroom.store.suppressions import Stop, suppress
from postroom.testing import ScriptedSmtp, VirtualClock, VirtualWorker
from postroom.vocabulary import CampaignStatus, EnrolmentStatus, SuppressionReason
from postroom.work.breakers import known_routes, resume
from tests.campaigns.sending.stage import MONDAY, OFFICE, SHOP, Stage, fails
from tests.store.journey import Clock

BERLIN = replace(OFFICE, timezone="Europe/Berlin")


class Post:
    """A stage whose mail a real worker hands to a real server, on the same clock."""

    def __init__(self, stage: Stage, clock: VirtualClock, server: ScriptedSmtp, worker: VirtualWorker) -> None:
        self.stage = stage
        self.clock = clock
        self.server = server
        self.worker = worker

    def attempts_until(self, end: datetime) -> list[datetime]:
        """At which instants the server was offered a recipient."""
        found: list[datetime] = []
        for now in self.worker.until(end):
            offered = sum(command.upper().startswith("RCPT") for command in self.server.commands)
            found += [now] * (offered - len(found))
        return found


@pytest.fixture
def post(store_url: str, tmp_path: Path) -> Iterator[Post]:
    """Its worker signs in."""
    clock = VirtualClock(MONDAY + timedelta(hours=1))
    with ScriptedSmtp(users={"app": "right"}) as server:
        url = f"smtp://app:right@127.0.0.1:{server.port}?starttls=off&insecure_auth=yes"
        settings = load(database=store_url, smtp=url, journal=tmp_path / "journal")
        with (
            Outbox.from_settings(settings, clock=clock) as outbox,
            VirtualWorker(outbox, clock, random=Random(4)) as worker,
        ):
            stage = Stage(outbox, Clock())
            stage.settings(OFFICE)
            yield Post(stage, clock, server, worker)


# ---------------------------------------------------------------- acceptance criteria


def test_ac1_each_email_has_an_idempotency_key_that_is_unique_in_the_database(stage: Stage) -> None:
    stage.settings()
    stage.launched("spring", 2, (0, 3))
    keys = sorted(each.key for each in stage.mails())

    assert keys == ["p1:spring-words:1", "p1:spring-words:2", "p2:spring-words:1", "p2:spring-words:2"]
    assert StepKey.parse(keys[1]) == StepKey(prospect_id="p1", sequence_id="spring-words", step_number=2)
    with pytest.raises(Exception, match=r"(?i)unique"):
        stage.run(_renamed(stage, keys[1], keys[0]))


def test_ac2_scheduling_again_is_no_error_inserts_nothing_and_tells_why(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    stage.settings()
    stage.launched("spring", 3, (0, 3))
    before = stage.mails()
    with caplog.at_level(logging.INFO, logger="postroom"):
        again = CampaignOperations(stage.outbox).launch(SHOP, "spring", by="ada")

    assert (again.scheduled, again.skipped, again.errors) == (0, {"already_scheduled": 3}, ())
    assert stage.mails() == before
    told = "a launch has passed over prospects (workspace=shop, campaign=spring, skipped={'already_scheduled': 3})"
    assert [record.getMessage() for record in caplog.records] == [told]
    [line, *_] = stage.run(read_audit(what="campaign_launch")).entries
    assert (line.actor, line.detail["state"], line.detail["campaign"]) == ("ada", "done", "spring")
    assert line.detail["skipped"] == {"already_scheduled": 3}


def test_ac2_a_prospect_who_has_the_sequence_already_is_passed_over_and_that_is_logged(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    """Counted by reason in one line for each launch, however many batches it takes, and without an address."""
    stage.settings()
    stage.launched("early", ["p1", "p2"], sequence="words")
    stage.run(add_campaign(SHOP, Campaign(id="spring", name="spring", sequence_id="words"), senders=["grace"]))
    stage.enrol("spring", 4)
    stage.run(suppress([Stop(address="p3@example.org", reason=SuppressionReason.MANUAL)]))
    with caplog.at_level(logging.INFO, logger="postroom"):
        launched = stage.launch("spring", batch=1)

    assert (launched.scheduled, launched.skipped) == (1, {"already_scheduled": 2, "suppressed": 1})
    [record] = caplog.records
    assert record.getMessage().endswith("campaign=spring, skipped={'already_scheduled': 2, 'suppressed': 1})")
    assert "@" not in caplog.text


def test_a_launch_that_has_passed_over_nobody_logs_nothing(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="postroom"):
        stage.launched("spring", 2)

    assert caplog.records == []


def test_ac3_an_email_goes_from_scheduled_over_sending_to_sent_or_to_another_attempt(stage: Stage) -> None:
    stage.settings()
    stage.launched("spring", 1)
    assert stage.states() == {"p1:spring-words:1": "ready"}
    email = stage.claim()
    assert stage.mail("p1:spring-words:1").email_status == "sending"
    stage.settle(fails(email, stage.clock.now))
    assert stage.mail("p1:spring-words:1").email_status == "retrying"
    stage.advance(minutes=5)
    stage.send()
    stage.nothing_leaves()

    assert stage.states() == {"p1:spring-words:1": "sent"}


def test_ac4_what_fails_for_now_is_tried_again_after_1_5_and_15_minutes_and_then_no_more(post: Post) -> None:
    post.server.script(at="rcpt", reply="451 4.2.0 try later")
    post.stage.launched("spring", 1)
    attempts = post.attempts_until(post.clock.now + timedelta(days=2))
    waits = [(later - earlier).total_seconds() / 60 for earlier, later in pairwise(attempts)]

    assert [int(wait) for wait in waits] == [1, 5, 15], "never sooner, and no later than the machine is slow"
    assert post.stage.states() == {"p1:spring-words:1": "dead"}


def test_ac5_what_is_refused_for_good_is_given_up_at_once(post: Post) -> None:
    post.server.script(at="rcpt", reply="550 5.1.1 no such user")
    post.stage.launched("spring", 1, (0, 1))
    attempts = post.attempts_until(post.clock.now + timedelta(days=4))

    assert len(attempts) == 1
    assert post.stage.states() == {"p1:spring-words:1": "dead", "p1:spring-words:2": "stopped"}


@pytest.mark.parametrize("reply", ["535 5.7.8 the password has expired", "535 5.7.1 access was revoked"])
def test_ac5_a_login_that_was_revoked_or_has_expired_pauses_what_is_sent_by_it_and_keeps_the_mail(
    post: Post, reply: str
) -> None:
    """E5: that is no fault of the mail. All of it stays, and at most the attempt that found out counts; a person puts
    it right, and it leaves."""
    post.server.script(at="auth", reply=reply)
    post.stage.launched("spring", 2, (0, 1))
    refused = post.attempts_until(post.clock.now + timedelta(hours=1))
    kept = post.stage.outbox.list().emails
    [route] = post.stage.run(known_routes())
    post.server.clear_script()
    waiting = post.stage.states()
    post.stage.run(resume("default"))
    left = post.attempts_until(post.clock.now + timedelta(days=2))

    assert refused == []
    assert (route.breaker.state, reply in route.breaker.reason) == ("paused", True)
    assert {each.status for each in kept} <= {"pending", "retrying"}
    assert sum(each.attempts for each in kept) <= 1
    assert not {"dead", "stopped"} & set(waiting.values())
    assert set(post.stage.states().values()) == {"sent"}
    assert len(left) == 4, "each leaves once"


def test_ac6_times_keep_to_the_window_the_gap_the_quota_and_the_ramp_up(stage: Stage) -> None:
    settings = replace(BERLIN, daily_quota=4, ramp_up=RampUp(schedule=(1, 3)), gap_seconds=(30, 90))
    stage.settings(settings)
    stage.launched("spring", 12)
    planned = sorted(each.planned_at for each in stage.mails() if each.planned_at)
    days = [window_day_at(settings, at) for at in planned]

    assert len(planned) == 12
    assert [days.count(day) for day in sorted({day for day in days if day})] == [1, 3, 4, 4]
    assert all((later - earlier).total_seconds() >= 30 for earlier, later in pairwise(planned))
    same_day = [(earlier, later) for earlier, later in pairwise(planned) if earlier.date() == later.date()]
    assert all((later - earlier).total_seconds() <= 90 for earlier, later in same_day)
    stage.send_until(MONDAY + timedelta(days=7))
    assert list(stage.by_day(settings).values()) == [1, 3, 4, 4], "and so they leave"


# ---------------------------------------------------------------- edge cases


def test_edge_case_1_a_launch_that_runs_twice_and_breaks_off_between_mails_nobody_twice(stage: Stage) -> None:
    stage.settings()
    stage.sender()
    stage.draft("spring", 4)
    _some_of(stage, plans=2)
    stage.launch()
    stage.launch()
    keys = [stage.send() for _ in range(4)]
    stage.nothing_leaves()

    assert sorted(keys) == [f"p{n}:spring-words:1" for n in (1, 2, 3, 4)]


def test_edge_case_2_a_campaign_that_is_paused_while_it_is_scheduled_is_scheduled_no_further(stage: Stage) -> None:
    stage.settings()
    stage.sender()
    stage.draft("spring", 4)
    _some_of(stage, plans=2)
    stage.run(pause_campaign(SHOP, "spring"))

    assert stage.launch(batch=2).status is CampaignStatus.PAUSED
    assert len(stage.mails()) == 2
    stage.nothing_leaves()
    assert stage.go_through(resume_campaign(SHOP, "spring")).scheduled == 2


def test_edge_case_3_a_prospect_who_is_paused_waits_until_resumed(stage: Stage) -> None:
    stage.settings()
    stage.launched("spring", 2)
    stage.run(pause_prospect(SHOP, "spring", "p1"))

    assert stage.send() == "p2:spring-words:1"
    stage.nothing_leaves()
    assert stage.enrolments()["p1"].status is EnrolmentStatus.PAUSED
    stage.run(resume_prospect(SHOP, "spring", "p1"))
    assert stage.send() == "p1:spring-words:1"


@pytest.mark.parametrize("plans", [0, 2], ids=["paused before the launch", "paused between two batches"])
def test_edge_case_3_a_prospect_who_is_paused_before_being_scheduled_waits_until_resumed(
    stage: Stage, plans: int
) -> None:
    """The enrolment is looked at again before each row is written."""
    stage.settings()
    stage.sender()
    stage.draft("spring", 4)
    if plans:
        _some_of(stage, plans=plans)
    stage.run(pause_prospect(SHOP, "spring", "p3"))
    stage.launch(batch=2)

    assert [stage.send() for _ in range(3)] == [f"p{n}:spring-words:1" for n in (1, 2, 4)]
    stage.nothing_leaves()
    assert stage.enrolments()["p3"].status is EnrolmentStatus.PAUSED
    stage.run(resume_prospect(SHOP, "spring", "p3"))
    assert stage.send() == "p3:spring-words:1"


def test_edge_case_4_what_is_beyond_the_quota_moves_to_the_next_day_that_is_open(stage: Stage) -> None:
    stage.settings(replace(OFFICE, daily_quota=2))
    stage.launched("spring", 5)

    assert [f"{each.planned_at:%a}" for each in stage.mails()] == ["Mon", "Mon", "Tue", "Tue", "Wed"]
    stage.send_until(MONDAY + timedelta(days=4))
    assert [f"{each.at:%a}" for each in stage.log] == ["Mon", "Mon", "Tue", "Tue", "Wed"]


def test_edge_case_5_weekends_and_holidays_are_left_out(stage: Stage) -> None:
    friday, monday = MONDAY + timedelta(days=4), date(2026, 3, 16)
    stage.clock.now = friday
    stage.settings(replace(OFFICE, daily_quota=1, holidays=(monday,)))
    stage.launched("spring", 2)

    assert [f"{each.planned_at:%a %-d}" for each in stage.mails()] == ["Fri 13", "Tue 17"]
    stage.send_until(friday + timedelta(days=7))
    assert [f"{each.at:%a %-d}" for each in stage.log] == ["Fri 13", "Tue 17"]


def test_edge_case_6_times_are_stored_in_utc_and_follow_the_clock_of_the_timezone(stage: Stage) -> None:
    """The clocks of Berlin go forward on 29 March 2026: nine o'clock is 8:00 UTC on the Friday, 7:00 on the Monday."""
    stage.clock.now = datetime(2026, 3, 27, 1, tzinfo=UTC)
    stage.settings(replace(BERLIN, daily_quota=1, gap_seconds=(0, 0)))
    stage.launched("spring", 2)

    assert [each.planned_at for each in stage.mails()] == [
        datetime(2026, 3, 27, 8, tzinfo=UTC),
        datetime(2026, 3, 30, 7, tzinfo=UTC),
    ]
    stage.send_until(datetime(2026, 4, 1, tzinfo=UTC))
    assert [f"{each.at:%-d %H}" for each in stage.log] == ["27 08", "30 07"]


def test_edge_case_7_delays_of_steps_count_from_the_day_on_which_the_step_before_was_sent(stage: Stage) -> None:
    stage.settings(OFFICE)
    stage.launched("spring", 1, (0, 2, 5))
    stage.clock.now = MONDAY.replace(hour=16) + timedelta(days=1)
    stage.send_until(MONDAY + timedelta(days=21))

    assert [f"{each.at:%a %-d}" for each in stage.log] == ["Tue 10", "Thu 12", "Tue 17"]


def test_edge_case_8_settings_in_which_no_window_ever_opens_are_refused_and_nothing_is_written(stage: Stage) -> None:
    stage.settings(OFFICE)
    for wrong in ({"sending_days": ()}, {"start_hour": 9, "end_hour": 9}):
        with pytest.raises(InvalidCampaign) as refused:
            stage.settings(SendingSettings(**wrong))  # type: ignore[arg-type]
        assert refused.value.field in ("sending_days", "end_hour", "start_hour")
    stage.launched("spring", 1)

    stage.send_until(MONDAY + timedelta(days=1))
    assert len(stage.log) == 1, "what held before still holds"


def _renamed(stage: Stage, key: str, other: str) -> Plan[None]:
    tables = stage.outbox.database.dialect.tables
    yield ask_sql(f"UPDATE {tables}campaign_mails SET key = :other WHERE key = :key", key=key, other=other)


def _some_of(stage: Stage, *, plans: int) -> None:
    """A launch in batches of two that breaks off after so many transactions."""
    course = launch(SHOP, "spring", batch=2)
    result = None
    for _ in range(plans):
        result = stage.run(course.send(result))
    course.close()

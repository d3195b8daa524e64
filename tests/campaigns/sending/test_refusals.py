"""«No such mailbox», said by a server in the session, is a hard bounce, and what follows from one follows (P12).

Real workers, a real server, both stores.
"""

from __future__ import annotations

import signal
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from postroom import Outbox
from postroom.campaigns.looking.totals import totals_of
from postroom.campaigns.sending.acting import resume_campaign
from postroom.campaigns.stopping.stops import stop_prospect
from postroom.config import load
from postroom.send.script import At
from postroom.store.returns import returns_of_email
from postroom.store.suppressions import suppressions
from postroom.testing import ScriptedSmtp, VirtualClock, VirtualWorker
from postroom.vocabulary import CampaignStatus, EmailId, EnrolmentStatus, Return, SuppressionReason, SuppressionScope
from tests.campaigns.sending.stage import LINKS, MONDAY, OFFICE, OPEN_ALWAYS, SHOP, Stage, miscounted
from tests.campaigns.sending.test_criteria import Post, post
from tests.campaigns.sending.test_stops import about, balanced, came_back, ended
from tests.campaigns.sending.test_workers import live, nursery, office, server
from tests.store.journey import Clock, dead, email
from tests.work.office import PATIENCE, Office, wait_until

__all__ = ["live", "nursery", "office", "post", "server"]

NOBODY = "550 5.1.1 no such user"
REFUSED = "p1:spring-words:1"


def two_campaigns(post: Post) -> None:
    """The first mail of the first is for p1, who is in both; the window opens in three hours."""
    post.stage.settings(replace(OFFICE, start_hour=12))
    post.stage.launched("spring", 2, (0, 1))
    post.stage.draft("summer", ["p1", "p2"])
    post.stage.launch("summer")


def work(post: Post, days: float = 4) -> None:
    for _ in post.worker.until(post.clock.now + timedelta(days=days)):
        pass


def returned(stage: Stage, id: EmailId) -> list[tuple[str, str, str | None, str, int | None]]:
    found = stage.run(returns_of_email(id, limit=9))
    return [(each.source, each.what, each.bounce_class, each.status, each.code) for each in found]


def entries(stage: Stage) -> list[Any]:
    return list(stage.run(suppressions(limit=9)))


@pytest.mark.parametrize(
    ("at", "reply"),
    [("rcpt", NOBODY), ("dot", NOBODY), ("rcpt", "550 5.1.1 shop.example wrote to example.org: no such user")],
)
def test_a_refusal_for_good_is_a_hard_bounce_p12(post: Post, at: At, reply: str) -> None:
    two_campaigns(post)
    post.server.script(at=at, reply=reply, times=1)
    work(post)
    stage = post.stage
    refused = stage.mail(REFUSED)

    assert (refused.state, refused.email_status) == ("dead", "dead")
    assert returned(stage, refused.id) == [("session", "bounced", "permanent", "5.1.1", 550)]
    assert [each.what for each in stage.outbox.get(refused.id).history] == ["failed", "bounced"]
    [recipient] = stage.outbox.get(refused.id).recipients
    assert (recipient.returned.what, recipient.returned.bounce_class) == ("bounced", "permanent")
    assert ended(stage) == dict.fromkeys(("spring", "summer"), ("bounced", "bounced: 550 5.1.1"))
    [entry] = entries(stage)
    assert (entry.address, entry.scope, entry.workspace) == ("p1@example.org", SuppressionScope.WORKSPACE, SHOP)
    assert (entry.reason, entry.evidence, entry.email_id) == (
        SuppressionReason.HARD_BOUNCE, "bounced for good: 550 5.1.1", refused.id,
    )  # fmt: skip
    assert stage.run(totals_of(SHOP, "summer")).stopped == {"bounced": 1}
    assert {message.recipients for message in post.server.messages} == {("p2@example.org",)}
    assert balanced(stage, "spring", "summer")
    assert miscounted(stage) == []


@pytest.mark.parametrize(
    ("at", "reply"),
    [
        ("rcpt", "550 5.7.1 refused by policy"),
        ("rcpt", "554 5.7.1 relay access denied"),
        ("rcpt", "552 5.2.2 mailbox full"),
        ("rcpt", "550 5.1.1 rejected: listed at zen.spamhaus.org; see our policy"),
        ("rcpt", "550 5.1.2 the domain shop.example does not exist"),  # whose mail it is
        ("rcpt", "550 callback failed for <grace@shop.example>: no such user here"),
        ("dot", "550 user unknown"),
        ("dot", "554 5.7.1 spam"),
    ],
)
def test_any_other_refusal_stops_nobody_p12(post: Post, at: str, reply: str) -> None:
    """The mail is dead, and with it this enrolment; whether the address can ever get mail, nobody has said."""
    two_campaigns(post)
    post.server.script(at=at, reply=reply, times=1)
    work(post)
    stage = post.stage

    assert (stage.mail(REFUSED).state, stage.mail(REFUSED).reason) == ("dead", "permanent")
    assert returned(stage, stage.mail(REFUSED).id) == []
    assert ended(stage) == {"spring": ("stopped", "permanent"), "summer": ("completed", None)}
    assert entries(stage) == []
    assert balanced(stage, "spring", "summer")


def test_a_refusal_of_the_sender_says_nothing_of_the_prospect(post: Post) -> None:
    two_campaigns(post)
    post.server.script(at="mail", reply="553 5.1.8 sender's domain does not exist", times=1)
    work(post)
    stage = post.stage

    assert stage.mail(REFUSED).state == "leaving", "it is kept until somebody resumes the sender"
    assert returned(stage, stage.mail(REFUSED).id) == []
    assert entries(stage) == []
    assert balanced(stage, "spring", "summer")


def test_a_campaign_of_which_too_much_is_refused_pauses_itself(post: Post) -> None:
    """Nothing was ever sent of it: what was refused counts among the mails that it is judged by."""
    post.stage.settings(OFFICE, bounce_limit=0.5, limit_after=4)
    post.server.script(at="rcpt", reply=NOBODY)
    post.stage.launched("spring", 20)
    work(post)
    campaign = post.stage.campaign()

    assert (campaign.status, campaign.pause_reason) == (
        CampaignStatus.PAUSED, "4 of 4 bounced, the limit is 50 %",
    )  # fmt: skip
    assert len([command for command in post.server.commands if command.upper().startswith("RCPT")]) == 4
    assert len(entries(post.stage)) == 4
    assert balanced(post.stage, "spring")


def test_whoever_resumes_it_has_it_judged_by_what_leaves_from_then_on(post: Post) -> None:
    post.stage.settings(OFFICE, bounce_limit=0.5, limit_after=4)
    post.server.script(at="rcpt", reply=NOBODY, times=4)
    post.stage.launched("spring", 20)
    work(post, days=1)
    post.stage.go_through(resume_campaign(SHOP, "spring"))
    work(post)

    assert post.stage.campaign().status is CampaignStatus.COMPLETED
    assert len(post.server.messages) == 16
    assert balanced(post.stage, "spring")


def test_a_late_report_about_the_same_mail_changes_nothing(post: Post) -> None:
    post.stage.settings(OFFICE, bounce_limit=0.3, limit_after=4)
    post.server.script(at="rcpt", reply=NOBODY, times=1)
    post.stage.launched("spring", 4, (0, 5))
    work(post, days=1)
    before, enrolments = post.stage.campaign(), post.stage.enrolments()
    came_back(post.stage, about(post.stage, Return.BOUNCED, REFUSED))

    assert len(returned(post.stage, post.stage.mail(REFUSED).id)) == 2
    assert post.stage.campaign() == before
    assert post.stage.enrolments() == enrolments
    assert len(entries(post.stage)) == 1
    assert balanced(post.stage, "spring")


def test_a_refusal_after_the_person_has_answered_is_noted_and_their_answer_stays(post: Post) -> None:
    """An end is an end."""
    two_campaigns(post)
    post.stage.run(_ended_by_an_answer(post.stage))
    post.server.script(at="rcpt", reply=NOBODY, argument="p1@example.org")
    work(post)

    assert ended(post.stage)["spring"][0] == "replied"
    assert ended(post.stage)["summer"] == ("bounced", "bounced: 550 5.1.1")
    assert balanced(post.stage, "spring", "summer")


def _ended_by_an_answer(stage: Stage) -> Any:
    return stop_prospect(SHOP, "p1@example.org", "replied", campaign="spring", ends=EnrolmentStatus.REPLIED)


def test_a_refused_mail_that_a_person_retries_goes_to_nobody(post: Post) -> None:
    two_campaigns(post)
    post.server.script(at="rcpt", reply=NOBODY, times=1)
    work(post, days=1)
    post.stage.outbox.retry(post.stage.mail(REFUSED).id)
    work(post)

    assert {message.recipients for message in post.server.messages} == {("p2@example.org",)}
    assert ended(post.stage)["spring"][0] == "bounced"
    assert balanced(post.stage, "spring", "summer")


def test_whoever_has_the_email_in_hand_is_not_waited_for(stage: Stage) -> None:
    """Who changes an email changes its mail: waiting for the one with the other in hand would be for ever."""
    stage.settings()
    stage.launched("spring", 1)
    stage.settle(refused(stage.claim()))
    id = stage.mail(REFUSED).id
    if stage.outbox.database.dialect.tables == "postroom.":
        with psycopg.connect(stage.outbox.database_url) as other:
            other.execute("SELECT 1 FROM postroom.emails WHERE id = %s FOR UPDATE", [id])
            stage.tick()
            assert stage.mail(REFUSED).state == "leaving", "it is heard of the next time"
    stage.nothing_leaves()

    assert (stage.mail(REFUSED).state, ended_in(stage)) == ("dead", "bounced")
    assert len(returned(stage, id)) == 1


def refused(email: Any) -> Any:
    said = '{"outcome":"dead","phase":"rcpt","code":550,"enhanced":"5.1.1","text":"no such user"}'
    return replace(dead(email), reply=said, reply_code=550)


def ended_in(stage: Stage) -> str:
    return stage.enrolments()["p1"].status.value


def test_of_whom_mail_is_redirected_nobody_has_been_asked(store_url: str, tmp_path: Path) -> None:
    """The address that takes it all does not exist: that is no prospect's bounce."""
    clock = VirtualClock(MONDAY + timedelta(hours=1))
    with ScriptedSmtp() as server:
        settings = load(
            database=store_url, smtp=server.url, journal=tmp_path / "journal", delivery="redirect:dev@example.org"
        )
        with Outbox.from_settings(settings, clock=clock) as outbox, VirtualWorker(outbox, clock) as worker:
            stage = Stage(outbox, Clock())
            stage.settings(OFFICE)
            server.script(at="rcpt", reply=NOBODY)
            stage.launched("spring", 1)
            for _ in worker.until(clock.now + timedelta(days=1)):
                pass

            assert "RCPT TO:<dev@example.org>" in server.commands
            assert stage.mail(REFUSED).state == "dead"
            assert "redirected" in str(outbox.get(stage.mail(REFUSED).id).last_error)
            assert (entries(stage), ended_in(stage)) == ([], "stopped")


def test_mail_that_is_of_no_campaign_puts_nobody_on_the_list(office: Office, live: Stage) -> None:
    """Whoever sent it is told at once, and may retry it when the address or its server is put right."""
    receipt = office.outbox.enqueue(email(to="p1@example.org"), workspace=SHOP)
    office.server.script(at="rcpt", reply=NOBODY, times=1)
    running = office.start_worker(**LINKS)
    wait_until(lambda: office.outbox.get(receipt.id).status == "dead")
    assert entries(live) == []
    office.outbox.retry(receipt.id)
    wait_until(lambda: office.outbox.get(receipt.id).status == "sent")
    office.dismiss([running])


# ---------------------------------------------------------------- killed


def test_a_worker_that_is_killed_between_settle_and_conclusion_leaves_the_bounce_to_the_next_p12(
    office: Office, live: Stage
) -> None:
    live.settings(OPEN_ALWAYS)
    live.launched("spring", 1, (0, 0))
    office.server.script(at="rcpt", reply=NOBODY)
    worker = office.start_worker(lease="2s", POSTROOM_FAILPOINT="campaign_refused:1", **LINKS)
    assert worker.wait(PATIENCE) == -signal.SIGKILL, office.logs()
    assert [list(row) for row in office.sql("SELECT status FROM {emails}")] == [["dead"]]
    assert (entries(live), ended_in(live)) == ([], "active")
    running = office.start_worker(lease="2s", **LINKS)
    wait_until(lambda: ended_in(live) == "bounced")
    office.dismiss([running])

    assert returned(live, live.mail(REFUSED).id) == [("session", "bounced", "permanent", "5.1.1", 550)]
    assert live.states() == {REFUSED: "dead", "p1:spring-words:2": "stopped"}
    assert balanced(live, "spring")

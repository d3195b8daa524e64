"""Real workers, a real mail server: campaigns beside ordinary mail, and workers that are killed half-way."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest

from postroom import Email
from postroom.campaigns.looking.totals import discrepancies
from postroom.campaigns.sending.acting import pause_campaign
from postroom.campaigns.sending.feed import CampaignFeed
from postroom.campaigns.stopping.stops import stop_prospect
from postroom.claim.route import Route
from postroom.send.smtp.pool import SmtpTransport
from postroom.store.open import open_async_database
from postroom.testing import ScriptedSmtp
from postroom.vocabulary import CampaignStatus, EnrolmentStatus
from postroom.work.worker import Worker, WorkerSettings
from tests.campaigns.sending.stage import LINKS, OPEN_ALWAYS, SHOP, Stage, miscounted
from tests.store.journey import Clock
from tests.work.conftest import nursery, server
from tests.work.nursery import Nursery
from tests.work.office import LIMITS, PATIENCE, Office, subject_of, wait_until

__all__ = ["nursery", "server"]


class Today(Clock):
    """The machine's own clock."""

    def __call__(self) -> datetime:
        return datetime.now(UTC)


@pytest.fixture
def office(store_url: str, server: ScriptedSmtp, tmp_path: Path, nursery: Nursery) -> Iterator[Office]:
    with Office(store_url, server, tmp_path, nursery) as office:
        yield office


@pytest.fixture
def live(office: Office) -> Stage:
    """The workspace of an office, on the machine's clock."""
    stage = Stage(office.outbox, Today())
    stage.settings()
    return stage


async def work_until_idle(office: Office) -> None:
    database = open_async_database(office.url)
    settings = WorkerSettings(journals=office.journals, until_idle=True, poll=timedelta(seconds=1))
    rules = office.outbox.rules
    try:
        async with asyncio.timeout(PATIENCE):
            await Worker(
                database,
                [Route.over(SmtpTransport(f"{office.server.url}?{LIMITS}"))],
                settings,
                beside=lambda bench: CampaignFeed(bench, rules=rules, random=Random(7)),
            ).run()
    finally:
        await database.close()


async def test_a_worker_sends_a_campaign_to_its_end_beside_ordinary_mail(office: Office, live: Stage) -> None:
    live.launched("spring", 4, (0, 0))
    receipts = office.outbox.enqueue_many([Email(to="ada@example.org", subject="A receipt", text="Paid.")] * 3)
    await work_until_idle(office)
    subjects = [subject_of(message.data) for message in office.server.messages]

    assert receipts == 3
    assert subjects.count("A receipt") == 3
    assert sorted(each for each in subjects if each != "A receipt") == sorted(
        f"{again}Hello P{n}" for n in (1, 2, 3, 4) for again in ("", "Re: ")
    )
    assert live.campaign().status is CampaignStatus.COMPLETED
    assert set(live.states().values()) == {"sent"}
    assert miscounted(live) == []


async def test_a_failure_for_now_is_tried_again_later_and_counts_no_longer(office: Office, live: Stage) -> None:
    live.launched("spring", 2)
    office.server.script(at="rcpt", reply="451 4.2.0 try later", argument="p1@example.org")
    await work_until_idle(office)

    assert live.states() == {"p1:spring-words:1": "leaving", "p2:spring-words:1": "sent"}
    assert _used(live) == [1]


PLACES = ("campaign_reconciled:2", "campaign_before_commit:2", "campaign_claimed:2", "before_dot:2", "reply_read:2")


@pytest.mark.parametrize("place", PLACES)
def test_a_worker_that_is_killed_sends_no_step_twice_and_passes_no_quota(
    office: Office, live: Stage, place: str
) -> None:
    live.settings(replace(OPEN_ALWAYS, daily_quota=6))
    live.launched("spring", 5, (0, 0))
    worker = office.start_worker(lease="2s", POSTROOM_FAILPOINT=place, **LINKS)
    assert worker.wait(PATIENCE) == -signal.SIGKILL, office.logs()
    running = [office.start_worker(lease="2s", **LINKS) for _ in range(2)]
    wait_until(lambda: 6 in _used(live) and not office.unfinished())
    office.dismiss(running)
    live.nothing_leaves()
    received = [message.recipients[0] + subject_of(message.data) for message in office.server.messages]

    assert len(received) == len(set(received)), "a step was sent twice"
    assert len(received) <= 6 * len(live.days())
    assert miscounted(live) == []


@pytest.mark.parametrize("place", ["campaign_launching:1", "campaign_launching:2"])
def test_a_launch_that_is_killed_goes_on_where_it_was(office: Office, live: Stage, place: str) -> None:
    """P13: resumable after a crash; each step of each prospect has one row in the end."""
    live.sender()
    live.draft("spring", 1_500, (0, 1))
    command = ("campaign", "launch", "spring", "--workspace", SHOP)
    killed = office.start(*command, environment=office.environment() | LINKS | {"POSTROOM_FAILPOINT": place})
    assert killed.wait(PATIENCE) == -signal.SIGKILL, office.logs()
    assert live.campaign().launched_to == 1_000 * (place == "campaign_launching:2")
    again = office.start(*command, environment=office.environment() | LINKS)

    assert again.wait(PATIENCE) == 0, office.logs()
    assert live.campaign().launched_to == 1_500
    assert [list(row) for row in office.sql("SELECT count(*), count(DISTINCT key) FROM {campaign_mails}")] == [
        [3_000, 3_000]
    ]


@pytest.mark.parametrize("again", [[], ["--again"]], ids=["cancelled", "launched again"])
def test_what_is_killed_while_it_comes_to_its_people_is_done_by_a_worker(
    office: Office, live: Stage, again: list[str]
) -> None:
    live.settings(replace(OPEN_ALWAYS, daily_quota=0))
    live.launched("spring", 2_500, (0, 1))
    if again:
        live.cancel()
    act = ["launch", *again] if again else ["cancel"]
    environment = office.environment() | LINKS | {"POSTROOM_FAILPOINT": "campaign_carrying:2"}
    killed = office.start("campaign", act[0], "spring", "--workspace", SHOP, *act[1:], environment=environment)
    assert killed.wait(PATIENCE) == -signal.SIGKILL, office.logs()
    assert live.campaign().carried_to == 1_000
    running = office.start_worker(**LINKS)
    wait_until(lambda: live.campaign().carried_to is None)
    office.dismiss([running])

    counted = office.sql("SELECT status, count(*) FROM {enrolments} GROUP BY status")
    assert [list(row) for row in counted] == [["active" if again else "stopped", 2_500]]
    assert live.go_through(discrepancies(SHOP, "spring")) == ()


def test_after_a_pause_nothing_is_handed_over(office: Office, live: Stage) -> None:
    """P11: at most the mail already in DATA goes out. The server takes a while before it asks for a message."""
    office.server.script(at="data", delay=0.05)
    live.launched("spring", 300)
    worker = office.start_worker(**LINKS)
    wait_until(lambda: len(office.server.messages) > 2)
    live.run(pause_campaign(SHOP, "spring"))
    leaving = _handed_over(office)
    wait_until(lambda: not office.sql("SELECT 1 FROM {emails} WHERE status = 'sending'"))
    office.dismiss([worker])

    assert len(office.server.messages) <= leaving < 300, "only what was being handed over may arrive"
    assert live.campaign().status is CampaignStatus.PAUSED


def test_nobody_is_mailed_after_their_stop_was_recorded(office: Office, live: Stage) -> None:
    """Nor what is in hand by then: the server takes a while before it asks for a message."""
    office.server.script(at="data", delay=0.05)
    live.launched("spring", 60, (0, 0))
    worker = office.start_worker(**LINKS)
    wait_until(lambda: len(office.server.messages) > 5)
    stopped = [f"p{n}@example.org" for n in range(1, 61, 2)]
    leaving: dict[str, int] = {}
    for address in stopped:
        live.run(stop_prospect(SHOP, address, "unsubscribed"))
        leaving[address] = _handed_over(office, address)
    wait_until(lambda: live.campaign().status is CampaignStatus.COMPLETED)
    office.dismiss([worker])

    late = [address for address in stopped if _received(office, address) > leaving[address]]
    assert late == [], "only what was being handed over may arrive"
    assert {_received(office, f"p{n}@example.org") for n in range(2, 61, 2)} == {2}


def test_a_running_worker_stops_whom_a_program_puts_on_the_list_p12(office: Office, live: Stage) -> None:
    """At once, although nothing is to leave before tomorrow."""
    live.settings(replace(OPEN_ALWAYS, daily_quota=1))
    live.launched("spring", 3, (0, 0))
    worker = office.start_worker(**LINKS)
    wait_until(lambda: _used(live) == [1] and live.states()["p1:spring-words:1"] == "sent")
    office.outbox.suppress("p3@example.org", reason="unsubscribe")
    wait_until(lambda: live.enrolments()["p3"].status is EnrolmentStatus.UNSUBSCRIBED)
    office.dismiss([worker])

    assert [live.states()[f"p3:spring-words:{step}"] for step in (1, 2)] == ["stopped", "stopped"]
    assert live.enrolments()["p2"].status is EnrolmentStatus.ACTIVE


def _received(office: Office, address: str) -> int:
    return sum(address in message.recipients for message in office.server.messages)


def _handed_over(office: Office, address: str = "%") -> int:
    """How many mails to an address, or to all, have been let go before their dot; whether they have arrived or not.

    At its turn a mail gets its email, and the time of its dot later, when it is let go.
    """
    [[mails]] = office.sql(
        "SELECT count(*) FROM {emails} e JOIN {campaign_mails} m ON m.email_id = e.id AND m.left_at > e.created_at"
        " JOIN {prospects} p ON p.workspace = m.workspace AND p.id = m.prospect_id"
        " WHERE p.normal_address LIKE ?",
        address,
    )
    return int(mails)


def _used(live: Stage) -> list[int]:
    return [used for used, _ in live.days().values()]

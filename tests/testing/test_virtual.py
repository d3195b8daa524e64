"""A clock that is moved, and a worker that sends campaigns by it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from postroom import Outbox
from postroom.campaigns.drafts.campaigns import enrol
from postroom.campaigns.drafts.describing import read_description
from postroom.campaigns.drafts.prospects import Arrival, take_in
from postroom.campaigns.values import Prospect
from postroom.config import load
from postroom.operate.campaigns import CampaignOperations
from postroom.testing import Hold, ScriptedSmtp, VirtualClock, VirtualWorker, VirtualWorkers

MONDAY = datetime(2026, 3, 9, 8, tzinfo=UTC)
PEOPLE = ("ada", "ben", "cleo")
CAMPAIGN = """
[campaign]
id = "spring"
[settings]
gap_seconds = [60, 60]
daily_quota = 2
[[senders]]
id = "grace"
address = "grace@shop.example"
[[steps]]
subject = "Hello"
text = "Hello"
"""


@contextmanager
def campaign(folder: Path, server: ScriptedSmtp) -> Iterator[tuple[VirtualClock, VirtualWorker]]:
    """Three mails, two a day, that may leave from nine to five."""
    with launched(folder, server) as (clock, outbox), VirtualWorker(outbox, clock, random=Random(1)) as worker:
        yield clock, worker


@contextmanager
def launched(folder: Path, server: ScriptedSmtp) -> Iterator[tuple[VirtualClock, Outbox]]:
    clock = VirtualClock(MONDAY)
    settings = load(
        database=f"sqlite:///{folder / 'app.db'}", smtp=server.url, journal=folder / "journal",
        public_url="https://mail.shop.example", secret="a secret of the tests, long enough to seal",
    )  # fmt: skip
    with Outbox.from_settings(settings, clock=clock) as outbox:
        outbox.migrate()
        campaigns = CampaignOperations(outbox)
        campaigns.new("shop", read_description(CAMPAIGN), by="grace")
        arrivals = [Arrival(Prospect(id=name, address=f"{name}@example.org"), True) for name in PEOPLE]
        outbox.database.run(take_in("shop", arrivals, update=False))
        outbox.database.run(enrol("shop", "spring", PEOPLE))
        campaigns.launch("shop", "spring", by="grace")
        yield clock, outbox


def test_a_clock_goes_forward_only() -> None:
    clock = VirtualClock(MONDAY)
    clock.move_to(MONDAY + timedelta(hours=1))
    clock.move_to(MONDAY)

    assert clock() == clock.now == MONDAY + timedelta(hours=1)


def test_what_arrives_was_sent_at_the_instant_the_clock_shows(tmp_path: Path, smtp_server: ScriptedSmtp) -> None:
    arrived: list[tuple[datetime, str]] = []
    with campaign(tmp_path, smtp_server) as (clock, worker):
        end = MONDAY + timedelta(days=3)
        for now in worker.until(end):
            arrived += [(now, message.recipients[0]) for message in smtp_server.messages[len(arrived) :]]

    assert clock.now == end
    assert [(f"{at:%a %H:%M}", to) for at, to in arrived] == [
        ("Mon 09:00", "ada@example.org"),
        ("Mon 09:01", "ben@example.org"),
        ("Tue 09:00", "cleo@example.org"),
    ]


def test_while_the_server_is_away_the_clock_goes_on_and_all_leaves_when_it_is_back(
    tmp_path: Path, smtp_server: ScriptedSmtp
) -> None:
    with campaign(tmp_path, smtp_server) as (_clock, worker):
        smtp_server.stop()
        assert list(worker.until(MONDAY + timedelta(minutes=80)))
        assert smtp_server.messages == []
        smtp_server.start()
        assert list(worker.until(MONDAY + timedelta(hours=9)))

    assert len({message.recipients for message in smtp_server.messages}) == 2, "the quota of the day"


def test_several_workers_send_what_one_would(tmp_path: Path, smtp_server: ScriptedSmtp) -> None:
    with launched(tmp_path, smtp_server) as (clock, outbox), VirtualWorkers(outbox, clock, 4, random=Random(1)) as four:
        arrived: list[datetime] = []
        for now in four.until(MONDAY + timedelta(days=3)):
            arrived += [now] * (len(smtp_server.messages) - len(arrived))
            four.restart(len(arrived))

    assert [f"{at:%a %H:%M}" for at in arrived] == ["Mon 09:00", "Mon 09:01", "Tue 09:00"]


def test_while_a_server_is_slow_the_clock_goes_on_and_leases_are_kept(
    tmp_path: Path, smtp_server: ScriptedSmtp
) -> None:
    hold = Hold()
    smtp_server.script(at="data", hold=hold, times=1)
    with (
        launched(tmp_path, smtp_server) as (clock, outbox),
        VirtualWorkers(outbox, clock, 2, random=Random(1), kept=lambda: hold.waiting) as two,
    ):
        instants = list(two.until(MONDAY + timedelta(hours=1, minutes=5)))
        in_hand = [two.in_hand(place) for place in range(2)]
        assert [message.recipients[0] for message in smtp_server.messages] == ["ben@example.org"]
        hold.release()
        two.settle()

    assert sorted(in_hand) == [0, 1]
    assert max(later - earlier for earlier, later in pairwise(instants[1:])) <= outbox.settings.lease / 3
    assert [message.recipients[0] for message in smtp_server.messages] == ["ben@example.org", "ada@example.org"]


@pytest.mark.parametrize("journal_lost", [False, True])
def test_what_a_killed_worker_had_in_hand_is_found_in_its_journal_or_when_its_lease_is_over(
    tmp_path: Path, smtp_server: ScriptedSmtp, journal_lost: bool
) -> None:
    """The server had taken it, and was about to say so: it is in doubt, and never leaves again."""
    hold = Hold()
    smtp_server.script(at="dot", hold=hold, times=1)
    with (
        launched(tmp_path, smtp_server) as (clock, outbox),
        VirtualWorkers(outbox, clock, 2, random=Random(1), kept=lambda: hold.waiting) as two,
    ):
        killed_at = next(now for now in two.until(MONDAY + timedelta(days=1)) if hold.waiting)
        two.kill(0 if two.in_hand(0) else 1, journal_lost=journal_lost)
        doubted_at = next(now for now in two.until(MONDAY + timedelta(days=1)) if outbox.list(status="in_doubt").emails)
        lease = outbox.settings.lease
        assert list(two.until(MONDAY + timedelta(days=7)))

    assert doubted_at - killed_at > lease if journal_lost else doubted_at == killed_at
    assert set(smtp_server.copies_of_all().values()) == {1}

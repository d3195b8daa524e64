"""How the outbox stands, asked of both stores (B6)."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from postroom import Outbox, Status
from postroom.metrics.families import MOST_HOSTS, text_of
from postroom.operate import Operations, Standing
from postroom.settle.verdict import Health, TransportVerdict
from postroom.store import heartbeats, housekeeping
from postroom.store.open import open_async_database
from postroom.work import breakers
from postroom.work.recovery import Recovery
from tests.metrics.scrape import Scrape
from tests.store.journey import LEASE, Clock, bring_to, claim, dead, enqueue, retrying, sent, settle


def look(outbox: Outbox) -> Standing:
    return Operations(outbox).standing()


def scrape(outbox: Outbox) -> Scrape:
    return Scrape(text_of(look(outbox)).decode())


def beat(outbox: Outbox, name: str, *, host: str, in_flight: int = 0) -> None:
    outbox.database.run(heartbeats.beat(name, host=host, version="1", in_flight=in_flight, rate=0.0))


def test_emails_are_counted_by_status(outbox: Outbox) -> None:
    for status in (Status.SENT, Status.DEAD, Status.IN_DOUBT, Status.CANCELLED, Status.PENDING):
        bring_to(outbox, status)

    found = scrape(outbox)

    assert {status: found("postroom_emails", status=status) for status in Status} == {
        "pending": 1,
        "queued": 0,
        "sending": 0,
        "retrying": 0,
        "in_doubt": 1,
        "sent": 1,
        "dead": 1,
        "cancelled": 1,
    }


def test_what_happened_is_counted_once_for_each_time(outbox: Outbox, clock: Clock) -> None:
    enqueue(outbox, 3)
    first, second, third = claim(outbox)
    settle(outbox, [sent(first), dead(second), retrying(third, clock.now)])
    settle(outbox, [sent(each) for each in claim(outbox)])

    found = scrape(outbox)

    assert found("postroom_emails_enqueued_total") == 3
    assert found("postroom_emails_sent_total") == 2
    assert found("postroom_emails_retried_total") == 1
    assert found("postroom_emails_died_total") == 1
    assert found("postroom_emails_doubted_total") == 0


def test_totals_never_go_back_when_emails_are_removed_and_tallies_summed_up(outbox: Outbox, clock: Clock) -> None:
    """Prometheus takes a counter that shrinks for a restart, and would count everything twice."""
    bring_to(outbox, Status.SENT)
    bring_to(outbox, Status.CANCELLED)
    before = look(outbox).totals
    now = clock.advance(days=100)
    assert outbox.database.run(housekeeping.prune_batch(before=now, statuses=[Status.SENT, Status.CANCELLED], limit=10))
    clock.advance(minutes=2)
    outbox.database.run(housekeeping.compact())

    after = look(outbox)

    assert after.counts["sent"] == after.counts["cancelled"] == 0
    assert after.totals == {**before, "pruned": 2}


def test_the_oldest_due_email_is_told_by_its_age(outbox: Outbox, clock: Clock) -> None:
    assert scrape(outbox)("postroom_oldest_due_seconds") == scrape(outbox)("postroom_due_emails") == 0

    enqueue(outbox)
    clock.advance(seconds=90)
    enqueue(outbox)
    enqueue(outbox, not_before=clock.now + timedelta(hours=1))

    assert scrape(outbox)("postroom_oldest_due_seconds") == 90
    assert scrape(outbox)("postroom_due_emails") == 2


def test_a_transport_is_in_one_state(outbox: Outbox) -> None:
    outbox.database.run(breakers.learn("mx.example.org:587", None, jitter=0))
    verdict = TransportVerdict(health=Health.PAUSE, reason="535 authentication failed")
    outbox.database.run(breakers.learn("smtp.example.org:25", verdict, jitter=0))

    found = scrape(outbox)

    for name, state in (("mx.example.org:587", "ok"), ("smtp.example.org:25", "paused")):
        told = {
            each: found("postroom_transport_state", route=name, state=each)
            for each in ("ok", "throttled", "open", "paused")
        }
        assert told == {**dict.fromkeys(told, 0), state: 1}


def test_workers_are_told_by_host_and_by_whether_they_were_heard_of(outbox: Outbox, clock: Clock) -> None:
    beat(outbox, "old", host="attic", in_flight=3)
    clock.advance(seconds=40)
    beat(outbox, "one", host="cellar", in_flight=5)
    clock.advance(seconds=2)
    beat(outbox, "two", host="cellar", in_flight=7)

    found = scrape(outbox)

    assert found("postroom_workers", role="worker", state="alive") == 2
    assert found("postroom_workers", role="worker", state="silent") == 1
    assert found("postroom_workers", role="sender", state="alive") == 0
    assert found("postroom_worker_heartbeat_age_seconds", host="attic") == 42
    assert found("postroom_worker_heartbeat_age_seconds", host="cellar") == 0
    assert found("postroom_worker_in_flight", host="cellar") == 12


def test_hosts_without_end_do_not_become_labels_without_end(outbox: Outbox, clock: Clock) -> None:
    for number in range(MOST_HOSTS + 5):
        beat(outbox, f"worker {number}", host=f"host-{number}")
        clock.advance(seconds=0.01)

    found = scrape(outbox)
    hosts = [labels for name, labels in found.samples if name == "postroom_worker_heartbeat_age_seconds"]

    assert len(hosts) == MOST_HOSTS
    assert found("postroom_workers", role="worker", state="alive") == MOST_HOSTS + 5
    assert found("postroom_worker_in_flight", host=f"host-{MOST_HOSTS + 4}") == 0


async def test_emails_that_are_taken_over_are_counted(
    outbox: Outbox, clock: Clock, store_url: str, tmp_path: Path
) -> None:
    enqueue(outbox, 2)
    claim(outbox, worker="gone")
    clock.advance(seconds=LEASE.total_seconds() + 1)
    database = open_async_database(store_url, clock=clock)
    try:
        recovery = Recovery(database, worker="heir", lease=timedelta(seconds=30), journals=tmp_path)
        assert await recovery.sweep(keep_sent=True) == 2
    finally:
        await database.close()

    assert scrape(outbox)("postroom_emails_taken_over_total") == 2
    assert outbox.conservation().holds

"""What a scheduler and a sender count, and what the database knows of the broker (D8)."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from postroom import Outbox
from postroom.broker.message import encode
from postroom.broker.meter import Fate
from postroom.metrics.catalogue import OF_A_WORKER, OF_DISPATCH
from postroom.metrics.counting import WorkerMeter
from postroom.metrics.dispatching import CountingDispatch
from postroom.metrics.families import MOST_QUEUES
from postroom.metrics.serving import served
from postroom.store.dispatch import Named
from postroom.testing import ScriptedSmtp
from postroom.work.pulse import Pulse
from tests.broker.hatch import Hatch
from tests.metrics.scrape import Scrape, family_name
from tests.metrics.test_standing import scrape
from tests.metrics.test_worker import asked
from tests.operate.services import beat, told
from tests.store.journey import Clock, email
from tests.work.office import wait_until

COUNTERS = ("published", "confirmed", "returned", "requeued", "gave_up", "announced", "stale", "poison")


@pytest.fixture
def server() -> Iterator[ScriptedSmtp]:
    with ScriptedSmtp() as server:
        yield server


def counted(meter: CountingDispatch) -> Scrape:
    with served(meter, pulse=Pulse(), host="127.0.0.1", port=0) as port:
        return asked(port)


def ours(found: Scrape) -> set[str]:
    return {name for name in found.families if name.startswith("postroom_")}


def test_everything_in_the_catalogue_is_there_from_the_beginning_and_is_zero() -> None:
    found = counted(CountingDispatch())

    assert ours(found) == {family_name(metric) for metric in OF_DISPATCH}
    for metric in OF_DISPATCH:
        family = found.families[family_name(metric)]
        assert (family.type, family.documentation) == (metric.kind, metric.meaning)
        assert found.sum_of(metric.name) == 0
    assert found.labels_of("postroom_dispatch_unconfirmed_total") == {("fate",)}


def test_messages_are_counted_by_what_became_of_them() -> None:
    meter = CountingDispatch()
    meter.published([Fate.CONFIRMED, Fate.CONFIRMED, Fate.RETURNED])
    meter.published([Fate.UNCONFIRMED, Fate.REFUSED, Fate.UNCONFIRMED])
    meter.requeued(2)
    meter.gave_up(3)
    meter.announced(4)
    meter.stale(5)
    meter.poison()
    meter.connected(True)

    found = counted(meter)

    assert {name: found(f"postroom_dispatch_{name}_total") for name in COUNTERS} == {
        "published": 6, "confirmed": 2, "returned": 1, "requeued": 2,
        "gave_up": 3, "announced": 4, "stale": 5, "poison": 1,
    }  # fmt: skip
    assert found("postroom_dispatch_unconfirmed_total", fate="unconfirmed") == 2
    assert found("postroom_dispatch_unconfirmed_total", fate="refused") == 1
    assert found("postroom_broker_connected") == 1

    meter.connected(False)
    assert counted(meter)("postroom_broker_connected") == 0


def test_a_sender_tells_what_a_worker_tells_and_more() -> None:
    with served(WorkerMeter(), CountingDispatch(), pulse=Pulse(), host="127.0.0.1", port=0) as port:
        found = asked(port)

    assert ours(found) == {family_name(metric) for metric in (*OF_A_WORKER, *OF_DISPATCH)}


def test_the_database_knows_who_reaches_the_broker_and_what_waits_there(outbox: Outbox, clock: Clock) -> None:
    beat(outbox, "gone", role="sender")
    clock.advance(minutes=2)
    depths = {"email.dispatcher.send": 7, "email.dispatcher.send.bulk": 1000}
    beat(outbox, "one", role="scheduler", broker=told(depths=depths, dead={"email.dispatcher.dead": 2}))
    beat(outbox, "two", role="sender")
    beat(outbox, "three", role="sender", broker=told(connected=False, reason="connection refused"))

    found = scrape(outbox)

    reached = {
        (role, state): found("postroom_broker_services", role=role, state=state)
        for role in ("scheduler", "sender")
        for state in ("connected", "away")
    }
    assert reached == {
        ("scheduler", "connected"): 1, ("scheduler", "away"): 0, ("sender", "connected"): 1, ("sender", "away"): 1,
    }  # fmt: skip
    assert found("postroom_workers", role="sender", state="silent") == 1
    assert found("postroom_workers", role="scheduler", state="alive") == 1
    for queue, count in {**depths, "email.dispatcher.dead": 2}.items():
        assert found("postroom_broker_messages", queue=queue) == count


def test_without_a_broker_nobody_is_away_and_no_queue_is_told_of(outbox: Outbox) -> None:
    found = scrape(outbox)

    assert found.sum_of("postroom_broker_services") == 0
    assert found.labels_of("postroom_broker_messages") == set()


def test_queues_without_end_do_not_become_labels_without_end(outbox: Outbox) -> None:
    beat(outbox, "one", role="scheduler", broker=told(depths={f"q{n}": n for n in range(MOST_QUEUES + 5)}))

    assert len([name for name, _ in scrape(outbox).samples if name == "postroom_broker_messages"]) == MOST_QUEUES


@contextmanager
def measured(service: str, **environment: str) -> Iterator[int]:
    """The command at work, and the port of its metrics."""
    process = subprocess.Popen(
        [sys.executable, "-m", "postroom.cli", service, "--metrics-port", "0"],
        env={**os.environ, **environment}, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    try:
        said = next(line for line in process.stderr if "metrics served" in line)
        found = re.search(r'"port": (\d+)', said)
        assert found is not None
        yield int(found[1])
    finally:
        process.terminate()
        process.stderr.read()
        process.stderr.close()
        assert process.wait(60) == 0


def test_scheduler_and_sender_count_what_passes_between_them(
    migrated_sqlite_url: str, server: ScriptedSmtp, broker_url: str, dispatcher: str, tmp_path: Path
) -> None:
    settings = {
        "POSTROOM_DATABASE": migrated_sqlite_url, "POSTROOM_SMTP": server.url, "POSTROOM_BROKER": broker_url,
        "POSTROOM_SEND_QUEUE": f"{dispatcher}.send", "POSTROOM_DEAD_QUEUE": f"{dispatcher}.dead",
        "POSTROOM_JOURNAL": str(tmp_path / "journals"),
    }  # fmt: skip
    with Outbox(migrated_sqlite_url) as outbox:
        id = outbox.enqueue(email()).id

    with measured("scheduler", **settings) as scheduler, measured("sender", **settings) as sender:
        wait_until(lambda: asked(sender).sum_of("postroom_attempts_total") == 1)
        told_by_scheduler = asked(scheduler)
        # A copy of a message that was served, and one that nobody understands.
        asyncio.run(Hatch(broker_url).put(f"{dispatcher}.send", encode(Named(id, 1)), b"hello"))
        wait_until(lambda: asked(sender)("postroom_dispatch_poison_total") == 1)
        wait_until(lambda: asked(sender)("postroom_dispatch_stale_total") == 1)
        told_by_sender = asked(sender)

    assert told_by_scheduler("postroom_dispatch_published_total") == 1
    assert told_by_scheduler("postroom_dispatch_confirmed_total") == 1
    assert told_by_scheduler("postroom_broker_connected") == told_by_sender("postroom_broker_connected") == 1
    assert "postroom_attempts" not in told_by_scheduler.families
    assert (
        told_by_sender("postroom_attempts_total", route="default", channel="email", outcome="sent", phase="dot")
        == len(server.messages)
        == 1
    )

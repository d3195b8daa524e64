"""What a worker counts while it works, and that one which nobody measures counts nothing (B6)."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from urllib.request import urlopen

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom import Outbox, RetryPolicy
from postroom.claim.meter import UNMETERED
from postroom.claim.route import Route
from postroom.errors import ConfigurationError
from postroom.metrics.catalogue import OF_A_WORKER
from postroom.metrics.counting import Buckets, WorkerMeter
from postroom.metrics.serving import served
from postroom.send.smtp.pool import SmtpTransport
from postroom.store.open import open_async_database
from postroom.testing import ScriptedSmtp
from postroom.work.pulse import Pulse
from postroom.work.supervise import posts, supervise
from postroom.work.worker import Worker, WorkerSettings
from tests.metrics.scrape import Scrape, family_name
from tests.store.journey import email
from tests.work.office import wait_until

ONCE_MORE = RetryPolicy(steps=["0s"], max_attempts=5, name="once more")


@pytest.fixture
def server() -> Iterator[ScriptedSmtp]:
    with ScriptedSmtp() as server:
        yield server


async def work(url: str, server: ScriptedSmtp, folder: Path, meter: WorkerMeter) -> None:
    """One worker until nothing is due."""
    database = open_async_database(url)
    settings = WorkerSettings(until_idle=True, journals=folder / "journals", poll=timedelta(seconds=1))
    try:
        await Worker(database, [Route.over(SmtpTransport(server.url))], settings, meter=meter).run()
    finally:
        await database.close()


def scrape(meter: WorkerMeter) -> Scrape:
    with served(meter, pulse=Pulse(), host="127.0.0.1", port=0) as port:
        return asked(port)


def asked(port: int) -> Scrape:
    """Over HTTP, as Prometheus would."""
    with urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        return Scrape(answer.read().decode())


async def test_a_worker_counts_its_attempts_by_outcome_and_phase(
    migrated_sqlite_url: str, server: ScriptedSmtp, tmp_path: Path
) -> None:
    server.script(at="rcpt", argument="nobody@example.org", reply="550 5.1.1 no such user")
    server.script(at="rcpt", argument="later@example.org", reply="451 4.7.1 greylisted", times=1)
    with Outbox(migrated_sqlite_url) as outbox:
        for name in ("ada", "grace", "nobody", "later"):
            outbox.enqueue(email(to=f"{name}@example.org"), policy=ONCE_MORE)
        outbox.suppress("stopped@example.org")
        outbox.enqueue(email(to="stopped@example.org"))
    meter = WorkerMeter()

    await work(migrated_sqlite_url, server, tmp_path, meter)

    found = scrape(meter)
    assert found("postroom_suppressed_emails_total") == 1
    assert found("postroom_attempts_total", route="default", channel="email", outcome="sent", phase="dot") == 3
    assert found("postroom_attempts_total", route="default", channel="email", outcome="dead", phase="rcpt") == 1
    assert found("postroom_attempts_total", route="default", channel="email", outcome="retrying", phase="rcpt") == 1
    assert found.sum_of("postroom_attempts_total") == 5
    assert found("postroom_send_seconds_count") == 5
    assert found("postroom_send_seconds_sum") > 0
    assert found("postroom_claimed_emails_total") == found("postroom_settled_emails_total") == 6
    assert found("postroom_queue_lag_seconds_count") == 6
    assert found("postroom_claim_seconds_count") >= 2
    assert found("postroom_settle_seconds_count") >= 1
    assert found("postroom_lease_takeovers_total") == 0


def test_a_scrape_of_a_worker_has_everything_in_the_catalogue_and_the_process_itself() -> None:
    meter = WorkerMeter()
    meter.serves("default", "email")
    found = scrape(meter)
    ours = {name for name in found.families if name.startswith("postroom_")}

    assert ours == {family_name(metric) for metric in OF_A_WORKER}
    assert found("process_resident_memory_bytes") > 0
    for metric in OF_A_WORKER:
        family = found.families[family_name(metric)]
        assert (family.type, family.documentation) == (metric.kind, metric.meaning)
        assert {name for name, _ in found.samples if name.startswith(metric.name)} >= set(metric.scraped)


def test_a_worker_is_not_measured_unless_asked(migrated_sqlite_url: str, server: ScriptedSmtp) -> None:
    worker = Worker(open_async_database(migrated_sqlite_url), [Route.over(SmtpTransport(server.url))])

    assert worker.meter is UNMETERED


@given(st.lists(st.floats(min_value=0, max_value=1e6, allow_nan=False)))
def test_every_value_is_in_all_buckets_whose_end_it_does_not_exceed(values: list[float]) -> None:
    meter = WorkerMeter()
    meter.settle = Buckets((0.5, 1.0, 60.0))
    for value in values:
        meter.settled(2, value)
    buckets = meter.settle

    assert [sum(buckets.counts[: place + 1]) for place in range(3)] == [
        sum(value <= end for value in values) for end in (0.5, 1.0, 60.0)
    ]
    assert sum(buckets.counts) == len(values)
    assert buckets.total == pytest.approx(sum(values))
    assert meter.settled_emails == 2 * len(values)


def test_a_port_that_is_taken_is_told_with_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match="choose another --metrics-port"), served(
            WorkerMeter(), pulse=Pulse(), host="127.0.0.1", port=port
        ):  # fmt: skip
            pytest.fail("it was served on a port that is taken")


def test_the_command_serves_metrics_on_this_machine_until_it_is_stopped(
    migrated_sqlite_url: str, server: ScriptedSmtp, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "postroom.cli", "worker", "--database", migrated_sqlite_url,
               "--smtp", server.url, "--metrics-port", "0"]  # fmt: skip
    with Outbox(migrated_sqlite_url) as outbox:
        outbox.enqueue(email())
    environment = {**os.environ, "POSTROOM_JOURNAL": str(tmp_path / "journals")}
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        told = next(line for line in process.stderr if "metrics served" in line)
        port = re.search(r'"port": (\d+)', told)
        assert port
        wait_until(lambda: asked(int(port[1])).sum_of("postroom_attempts_total") == 1)
    finally:
        process.terminate()
        process.stderr.read()
        code = process.wait(60)
        process.stderr.close()

    assert '"host": "127.0.0.1"' in told
    assert code == 0


@pytest.mark.parametrize(("first", "ports"), [(9464, {"9464", "9465"}), (0, {"0"})])
def test_each_of_several_processes_has_a_port_of_its_own(first: int, ports: set[str], tmp_path: Path) -> None:
    program = "import sys, pathlib, uuid; pathlib.Path(uuid.uuid4().hex).write_text(' '.join(sys.argv[1:]))"
    command = ["env", "-C", str(tmp_path), sys.executable, "-c", program]

    assert supervise(posts(2, command, metrics_port=first)) == 0

    said = [path.read_text().split() for path in tmp_path.iterdir()]
    assert len(said) == 2
    assert {words[0] for words in said} == {"--metrics-port"}
    assert {words[1] for words in said} == ports

"""`/healthz` and `/readyz` at a worker's port: true answers, from a real worker, also while it cannot work."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
import yaml

from postroom.claim.route import Route
from postroom.metrics.counting import WorkerMeter
from postroom.metrics.serving import served
from postroom.send.memory import MemoryTransport
from postroom.store.open import open_async_database
from postroom.work.pulse import HUNG, Pulse
from postroom.work.worker import Worker, WorkerSettings
from tests.work.office import until

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"


def asked(port: int, path: str, method: str = "GET") -> tuple[int, str]:
    try:
        with urlopen(Request(f"http://127.0.0.1:{port}{path}", method=method), timeout=60) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as refusal:
        with refusal:
            return refusal.code, refusal.read().decode()


@contextmanager
def port_of(pulse: Pulse) -> Iterator[int]:
    with served(WorkerMeter(), pulse=pulse, host="127.0.0.1", port=0) as port:
        yield port


async def test_a_worker_is_ready_while_it_can_work_and_not_before_or_after(
    migrated_sqlite_url: str, tmp_path: Path
) -> None:
    """Its mail server refuses everybody, which is no reason: the emails wait, and a restart would not help them."""
    pulse, database = Pulse(), open_async_database(migrated_sqlite_url)
    refusing = MemoryTransport()
    refusing.script(at="connect", cut=True)
    worker = Worker(database, [Route.over(refusing)], WorkerSettings(journals=tmp_path), pulse=pulse)
    with port_of(pulse) as port:
        before = asked(port, "/readyz")
        running = asyncio.create_task(worker.run())
        await until(lambda: not pulse.why_not_ready())
        meanwhile = await asyncio.to_thread(asked, port, "/readyz")
        worker.stop()
        await running
        after = asked(port, "/readyz")
        await database.close()

        assert before == (503, "the database has not answered yet\n")
        assert meanwhile == (200, "ok\n")
        assert after == (503, "it is stopping\n")
        assert asked(port, "/healthz") == (200, "ok\n")


def test_an_event_loop_that_hangs_is_told_by_the_thread_that_does_not() -> None:
    now = 0.0
    pulse = Pulse(lambda: now)
    with port_of(pulse) as port:
        now = HUNG + 5
        assert asked(port, "/healthz") == (503, "the event loop has not turned for 35 s\n")


@pytest.mark.parametrize("path", ["/", "/admin", "/metricsx", "/healthz/", "/favicon.ico"])
def test_everything_else_is_not_found(path: str) -> None:
    with port_of(Pulse()) as port:
        assert asked(port, path) == (404, "not here; /metrics, /healthz, /readyz are\n")


def test_a_question_for_the_head_alone_gets_no_body() -> None:
    with port_of(Pulse()) as port:
        assert asked(port, "/metrics", "HEAD") == (200, "")
        assert "postroom_attempts_total" in asked(port, "/metrics?x=1")[1]


def test_the_container_asks_for_its_health_where_its_command_answers() -> None:
    """Docker does not run here, so the two halves are compared, and the question itself is asked for real."""
    dockerfile = (DEPLOY / "Dockerfile").read_text("utf-8")
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))["services"]
    [line] = [line for line in dockerfile.splitlines() if "urlopen" in line]
    [*_, question] = json.loads(line.strip().removeprefix("CMD "))
    [*_, of_web] = services["web"]["healthcheck"]["test"]

    for name in ("worker", "scheduler", "sender"):
        assert services[name]["command"][-2:] == ["--metrics-port", "9464"]
        assert "healthcheck" not in services[name]
    assert services["web"]["command"][-1] == "8090"
    assert of_web == question.replace(":9464/", ":8090/")
    with port_of(Pulse()) as port:
        exec(question.replace(":9464/", f":{port}/"))
        with pytest.raises(HTTPError):
            exec(question.replace(":9464/healthz", f":{port}/nowhere"))

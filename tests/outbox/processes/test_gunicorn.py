"""An outbox under the real gunicorn, and the real uvicorn: forked workers, kills, timeouts."""

from __future__ import annotations

import os
import re
import signal
import socket
import urllib.request
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPException
from itertools import count
from pathlib import Path

import pytest

from postroom import Outbox, Status
from postroom.send.script import At
from postroom.store.contract import StoredEmail
from postroom.testing import ScriptedSmtp
from tests.outbox.application import PATIENCE, run_worker, wait_until
from tests.outbox.processes.program import (
    BEFORE_THE_FORK,
    Program,
    assert_all_sent_once,
    assert_nothing_lost_and_no_copy_without_record,
    emails_of,
    put_files,
)

PATHS = ("book", "code", "welcome")
WORKERS = 3
SENT_BEFORE_THE_FORK = 2
"""Of the three emails; the third waits for a worker."""


@pytest.fixture
def folder(tmp_path: Path, store_url: str, server: ScriptedSmtp, journals: Path) -> Path:
    """With the application of the how-to, and the same one with an outbox that was used before the fork."""
    put_files(tmp_path, store_url=store_url, server=server)
    (tmp_path / "used.py").write_text("from app import app, outbox\n" + BEFORE_THE_FORK)
    with Outbox(store_url) as outbox, outbox.transaction() as connection:
        connection.execute("CREATE TABLE bookings (made_at timestamp DEFAULT CURRENT_TIMESTAMP)")
    return tmp_path


class Site(Program):
    """Answers with the id of an email for each request."""

    def __enter__(self) -> Site:
        super().__enter__()
        found = self.says(r"(?:Listening at:|running on) (http://127\.0\.0\.1:(\d+))")
        self.address = found[1]
        wait_until(lambda: _is_open(int(found[2])))  # uvicorn says so before it listens
        return self

    def ask(self, path: str, number: int) -> str:
        url = f"{self.address}/{path}?guest=guest-{number}@example.org"
        with urllib.request.urlopen(url, timeout=60) as answer:
            return str(answer.read().decode().strip('"'))

    def ask_much(self, requests: Iterator[int], count: int) -> list[str]:
        """So many requests of all kinds, eight at a time."""
        with ThreadPoolExecutor(8) as pool:
            return list(
                pool.map(lambda number: self.ask(PATHS[number % 3], number), [next(requests) for _ in range(count)])
            )

    def at_work(self) -> set[int]:
        """The processes that have begun to answer a request."""
        return {int(pid) for pid in re.findall(r"\[(\d+)\] \[DEBUG\] GET ", self.said)}


def _is_open(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def gunicorn(folder: Path, *options: str) -> Iterator[Site]:
    with Site(
        "gunicorn", "--bind", "127.0.0.1:0", "--no-control-socket", "--log-level", "debug", *options, folder=folder
    ) as site:
        yield site


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(["--preload", "used:app"], id="preload"),
        pytest.param(["--preload", "--worker-class", "gthread", "--threads", "4", "used:app"], id="preload-gthread"),
        pytest.param(["app:app"], id="each-imports"),
    ],
)
def test_every_answered_request_is_a_row_and_one_copy(
    folder: Path, store_url: str, server: ScriptedSmtp, options: list[str]
) -> None:
    numbers = count()
    with gunicorn(folder, "--workers", str(WORKERS), *options) as site:
        acknowledged = site.ask_much(numbers, 100)
        while len(site.at_work()) < WORKERS:
            acknowledged += site.ask_much(numbers, 10)
        site.stop()
    run_worker(store_url, server)

    assert_all_sent_once(store_url, server, acknowledged, others=3 if "used:app" in options else 0)
    with Outbox(store_url) as outbox, outbox.transaction() as connection:
        [booked] = connection.execute("SELECT count(*) FROM bookings").fetchone()
    assert booked == len([number for number in range(next(numbers)) if number % 3 == 0])


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(
            ["gunicorn", "--bind", "127.0.0.1:0", "--no-control-socket", "--preload", "--worker-class", "asgi"]
        ),
        pytest.param(["uvicorn", "--port", "0"]),
    ],
    ids=lambda command: command[0],
)
def test_every_answered_request_is_a_row_and_one_copy_in_event_loops(
    folder: Path, store_url: str, server: ScriptedSmtp, command: list[str]
) -> None:
    numbers = count()
    with Site(*command, "--workers", str(WORKERS), "asgi:app", folder=folder) as site:
        acknowledged = site.ask_much(numbers, 100)
        site.stop()
    run_worker(store_url, server)

    assert_all_sent_once(store_url, server, acknowledged, others=0)


def test_a_worker_that_stops_brings_what_it_has_begun_to_its_end(
    folder: Path, store_url: str, server: ScriptedSmtp
) -> None:
    """gunicorn's workers end as programs do, so nobody has to close the outbox."""
    with gunicorn(folder, "--workers", "1", "--preload", "used:app") as site:
        server.wait_for(SENT_BEFORE_THE_FORK)
        server.script(at="dot", delay=0.5)
        ids = [site.ask("welcome", number) for number in range(5)]
        server.wait_for(SENT_BEFORE_THE_FORK + 1)
        site.stop()

    emails = [email for email in emails_of(store_url) if email.id in ids]
    assert {email.status for email in emails} <= {Status.SENT, Status.PENDING}
    assert {email.id for email in emails if email.status is Status.SENT} == {
        email.id for email in emails if server.copies(email.message_id)
    }


def stalled(site: Site, server: ScriptedSmtp, moment: At, pool: ThreadPoolExecutor) -> Future[str]:
    """A request whose email is under way, and is going to be for long."""
    server.wait_for(SENT_BEFORE_THE_FORK)
    server.script(at=moment, delay=600, times=1)
    asked = pool.submit(site.ask, "code", 1_000)
    if moment == "dot":
        server.wait_for(SENT_BEFORE_THE_FORK + 1)
    else:
        server.wait_until(lambda: server.commands.count("DATA") > SENT_BEFORE_THE_FORK)
    return asked


def assert_cut_off(asked: Future[str]) -> None:
    assert isinstance(asked.exception(PATIENCE), OSError | HTTPException)


def assert_stalled_email_is_known(emails: list[StoredEmail], server: ScriptedSmtp, moment: At) -> None:
    """Before the dot: sent once, by whoever took it over. With the dot out: a doubt on record."""
    [email] = [each for each in emails if "guest-1000@example.org" in str(each.recipients)]
    if moment == "dot":
        assert email.doubts == 1
    else:
        assert (email.status, email.doubts, server.copies(email.message_id)) == (Status.SENT, 0, 1)


@pytest.mark.parametrize("moment", ["data", "dot"])
def test_a_killed_worker_loses_nothing_and_makes_no_copy_without_record(
    folder: Path, store_url: str, server: ScriptedSmtp, moment: At
) -> None:
    numbers = count()
    with gunicorn(folder, "--workers", str(WORKERS), "--preload", "used:app") as site, ThreadPoolExecutor(1) as pool:
        asked = stalled(site, server, moment, pool)
        [victim] = site.at_work()
        acknowledged = site.ask_much(numbers, 20)
        os.kill(victim, signal.SIGKILL)
        acknowledged += site.ask_much(numbers, 20)
        assert_cut_off(asked)
        site.stop(expected=rf"\(pid:{victim}\) was sent SIGKILL")
    run_worker(store_url, server)

    emails = assert_nothing_lost_and_no_copy_without_record(store_url, server, acknowledged)
    assert_stalled_email_is_known(emails, server, moment)


@pytest.mark.parametrize("moment", ["data", "dot"])
def test_a_request_that_is_cut_off_by_a_timeout_leaves_its_email_to_a_worker(
    folder: Path, store_url: str, server: ScriptedSmtp, moment: At
) -> None:
    """gunicorn aborts the worker, which tries to end in order, and kills it a moment later."""
    # The worker that takes its place may be told to stop before it listens to that: not waited for for long.
    options = ["--workers", "1", "--timeout", "4", "--graceful-timeout", "4", "--preload", "used:app"]
    with gunicorn(folder, *options) as site, ThreadPoolExecutor(1) as pool:
        asked = stalled(site, server, moment, pool)
        assert_cut_off(asked)
        site.says("was sent SIGKILL")
        site.stop(expected="")
    run_worker(store_url, server)

    emails = assert_nothing_lost_and_no_copy_without_record(store_url, server)
    assert_stalled_email_is_known(emails, server, moment)

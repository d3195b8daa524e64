"""An outbox in the tasks of a real Celery, over a real broker: a prefork pool, warm shutdowns, kills."""

from __future__ import annotations

import os
import re
import secrets
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from celery import Celery

from postroom import Outbox, Status
from postroom.send.script import At
from postroom.testing import ScriptedSmtp
from tests.outbox.application import run_worker, wait_until
from tests.outbox.processes.program import (
    BEFORE_THE_FORK,
    Program,
    assert_all_sent_once,
    assert_nothing_lost_and_no_copy_without_record,
    emails_of,
    process_of,
    put_files,
)
from tests.servers.rabbitmq import RabbitServer

TASKS = ("remind", "send_code", "welcome")
CHILDREN = 3
BEFORE, SENT_BEFORE = 3, 2
"""Emails that were made before the fork, and how many of them do not wait for a worker."""


@pytest.fixture
def queue(rabbit_server: RabbitServer) -> Iterator[str]:
    """A queue of the test's own."""
    name = f"test-{secrets.token_hex(6)}.tasks"
    yield name
    rabbit_server.delete(queues=[name], exchanges=[name])


@pytest.fixture
def folder(tmp_path: Path, store_url: str, server: ScriptedSmtp, journals: Path, broker_url: str, queue: str) -> Path:
    """With the tasks of the how-to, on that queue, and an outbox that was used before the fork."""
    put_files(tmp_path, store_url=store_url, server=server, broker_url=broker_url)
    (tmp_path / "used.py").write_text(
        f"from tasks import app, outbox\napp.conf.task_default_queue = {queue!r}\n" + BEFORE_THE_FORK
    )
    return tmp_path


@pytest.fixture
def pool(folder: Path) -> Iterator[Program]:
    """A Celery worker that is ready."""
    quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "INFO"]
    # A name of its own: two of one name cannot be at the same broker.
    name = ["--hostname", f"celery@{secrets.token_hex(6)}"]
    options = ["--app", "used", "worker", *name, "--pool", "prefork", "--concurrency", str(CHILDREN), *quiet]
    with Program("celery", *options, folder=folder) as program:
        program.says(r"celery@\S+ ready")
        yield program


class Customer:
    """Asks for tasks, each about another guest."""

    def __init__(self, app: Celery) -> None:
        self._app = app
        self.asked = 0

    def ask(self, task: str) -> None:
        self._app.send_task(f"tasks.{task}", args=[f"guest-{self.asked}@example.org"])
        self.asked += 1

    def ask_much(self, count: int) -> None:
        for number in range(count):
            self.ask(TASKS[number % len(TASKS)])


@pytest.fixture
def customer(broker_url: str, queue: str) -> Iterator[Customer]:
    with Celery("customer", broker=broker_url) as app:
        app.conf.task_default_queue = queue
        yield Customer(app)


def wait_for_rows(store_url: str, count: int) -> None:
    with Outbox(store_url) as outbox:
        wait_until(lambda: sum(outbox.counts().values()) >= count)


def children_at_work(pool: Program) -> set[str]:
    return set(re.findall(r"INFO/(ForkPoolWorker-\d+)\] Task \S+ succeeded", pool.said))


def test_every_task_is_a_row_and_one_copy(
    pool: Program, customer: Customer, store_url: str, server: ScriptedSmtp
) -> None:
    customer.ask_much(99)
    wait_for_rows(store_url, BEFORE + customer.asked)
    while len(children_at_work(pool)) < CHILDREN:
        customer.ask_much(9)
        wait_for_rows(store_url, BEFORE + customer.asked)
    pool.stop()
    run_worker(store_url, server)

    assert_all_sent_once(store_url, server, others=BEFORE + customer.asked)


def test_a_child_that_stops_brings_what_it_has_begun_to_its_end(
    pool: Program, customer: Customer, store_url: str, server: ScriptedSmtp
) -> None:
    """Celery's children run no exit handlers: the signal of the how-to closes the outbox."""
    server.wait_for(SENT_BEFORE)
    server.script(at="dot", delay=3)  # longer than Celery's children linger at their end
    for _ in range(6):
        customer.ask("welcome")
    wait_for_rows(store_url, BEFORE + customer.asked)
    server.wait_for(SENT_BEFORE + 1)
    pool.stop()

    emails = emails_of(store_url)
    assert len(emails) == BEFORE + customer.asked
    assert {email.status for email in emails} <= {Status.SENT, Status.PENDING}
    assert {email.message_id for email in emails if email.status is Status.SENT} == set(server.copies_of_all())


@pytest.mark.parametrize("moment", ["data", "dot"])
def test_a_killed_child_loses_nothing_and_makes_no_copy_without_record(
    pool: Program, customer: Customer, store_url: str, server: ScriptedSmtp, moment: At
) -> None:
    server.wait_for(SENT_BEFORE)
    server.script(at=moment, delay=600, times=1)
    customer.ask("send_code")
    server.wait_until(
        lambda: server.commands.count("DATA") > SENT_BEFORE and len(server.messages) >= SENT_BEFORE + (moment == "dot")
    )
    [under_way] = [email for email in emails_of(store_url) if email.key == "code:guest-0@example.org"]
    os.kill(process_of(under_way), signal.SIGKILL)
    customer.ask_much(30)
    wait_for_rows(store_url, BEFORE + customer.asked)
    pool.stop(expected="")
    run_worker(store_url, server)

    emails = assert_nothing_lost_and_no_copy_without_record(store_url, server, [under_way.id])
    assert len(emails) == BEFORE + customer.asked
    assert [email.doubts for email in emails if email.id == under_way.id] == [1 if moment == "dot" else 0]

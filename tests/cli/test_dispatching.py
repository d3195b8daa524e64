"""scheduler and sender: what they say to those who call them wrongly, and about a broker that does not let them in."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import aiormq
import pytest

from postroom import Outbox
from postroom.testing import ScriptedSmtp
from tests.cli.conftest import CommandLine

SERVICES = ("scheduler", "sender")


@contextmanager
def at_work(service: str, database: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """The command as a process; told to stop at the end, and expected to do so in good order."""
    process = subprocess.Popen(
        [sys.executable, "-m", "postroom.cli", service, "--database", database],
        env={**os.environ, **environment}, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.terminate()
        assert process.stderr is not None
        process.stderr.read()
        process.stderr.close()
        assert process.wait(60) == 0


def lines_until(process: subprocess.Popen[str], words: str, *, times: int = 1) -> str:
    """What it says until it has said that so often."""
    assert process.stderr is not None
    said = ""
    while said.count(words) < times:
        line = process.stderr.readline()
        assert line, f"it ended, and said:\n{said}"
        said += line
    return said


@pytest.fixture(autouse=True)
def way_out(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with ScriptedSmtp() as server:
        monkeypatch.setenv("POSTROOM_SMTP", server.url)
        yield


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize(
    ("broker", "said"),
    [
        (None, "set POSTROOM_BROKER or give --broker, such as amqp://"),
        ("", "set POSTROOM_BROKER or give --broker, such as amqp://"),
        ("redis://me:hunter22@rabbit:6379/", "begins with redis://; write POSTROOM_BROKER or --broker as amqp://"),
        ("http://me:hunter22@rabbit:15672/", "begins with http://"),
        ("rabbit:5672", "begins with rabbit://"),
        ("me:hunter22@rabbit", "write POSTROOM_BROKER"),
        ("amqp://", "names no host"),
        ("amqp://me:hunter22@rabbit:many/", "cannot be read"),
        ("amqp://me:hunter22#hunter22@rabbit/", "percent-encode characters such as #"),
    ],
)
def test_a_broker_that_cannot_be_meant_is_told_in_one_line(
    postroom: CommandLine, outbox: Outbox, monkeypatch: pytest.MonkeyPatch, service: str, broker: str | None, said: str
) -> None:
    if broker is not None:
        monkeypatch.setenv("POSTROOM_BROKER", broker)

    answer = postroom(service)

    assert answer.code == 2
    assert answer.err.startswith("postroom: ")
    assert answer.err.count("\n") == 1
    assert said in answer.err
    assert "hunter22" not in answer.err


@pytest.mark.parametrize("service", SERVICES)
def test_an_absent_pamqp_is_told_with_the_command_that_installs_it(
    postroom: CommandLine, outbox: Outbox, monkeypatch: pytest.MonkeyPatch, service: str
) -> None:
    monkeypatch.setitem(sys.modules, "pamqp", None)

    answer = postroom(service, "--broker", "amqp://localhost:5672/")

    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert "pip install 'postroom[rabbitmq]'" in answer.err


@pytest.mark.parametrize("service", SERVICES)
def test_queues_that_share_a_name_are_refused(
    postroom: CommandLine, outbox: Outbox, monkeypatch: pytest.MonkeyPatch, service: str
) -> None:
    monkeypatch.setenv("POSTROOM_DEAD_QUEUE", "email.dispatcher.send")

    answer = postroom(service, "--broker", "amqp://localhost:5672/")

    assert answer.code == 2
    assert "different names" in answer.err


def test_a_sender_without_a_way_out_is_told_so(
    postroom: CommandLine, outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("POSTROOM_SMTP")

    answer = postroom("sender", "--broker", "amqp://localhost:5672/")

    assert answer.code == 2
    assert "POSTROOM_SMTP" in answer.err


@pytest.mark.parametrize("service", SERVICES)
def test_a_wrong_password_is_named_and_the_service_goes_on_trying(
    outbox: Outbox, broker_url: str, service: str
) -> None:
    parts = urlsplit(broker_url)
    wrong = f"amqp://{parts.username}:hunter22@{parts.hostname}:{parts.port}/"

    with at_work(service, outbox.database_url, POSTROOM_BROKER=wrong) as process:
        said = lines_until(process, "the broker refuses our user or password", times=2)

    assert '"again_in_seconds": 0.5' in said
    assert '"again_in_seconds": 1.0' in said
    assert "hunter22" not in said


@pytest.mark.parametrize("service", SERVICES)
def test_a_broker_that_is_not_there_is_told_and_waited_for(outbox: Outbox, service: str) -> None:
    with ScriptedSmtp() as server:
        port = server.port  # nobody listens there once it is closed

    with at_work(service, outbox.database_url, POSTROOM_BROKER=f"amqp://127.0.0.1:{port}/") as process:
        said = lines_until(process, "connection refused", times=2)

    assert f'"broker": "127.0.0.1:{port}/"' in said
    assert "aiormq" not in said  # it is told once, by us


def test_a_queue_of_other_arguments_is_named_with_what_to_do(outbox: Outbox, broker_url: str, dispatcher: str) -> None:
    asyncio.run(declare_otherwise(broker_url, f"{dispatcher}.send"))
    ours = {"POSTROOM_SEND_QUEUE": f"{dispatcher}.send", "POSTROOM_DEAD_QUEUE": f"{dispatcher}.dead"}

    with at_work("scheduler", outbox.database_url, POSTROOM_BROKER=broker_url, **ours) as process:
        said = lines_until(process, "a queue of that name exists with other arguments", times=2)

    assert f"{dispatcher}.send" in said
    assert "delete it, or name another" in said


async def declare_otherwise(url: str, queue: str) -> None:
    """A queue of that name that is not ours."""
    connection = await aiormq.connect(url)
    channel = await connection.channel()
    await channel.queue_declare(queue, durable=True)
    await connection.close()

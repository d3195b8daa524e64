"""The private RabbitMQ comes when it is needed and goes with whoever needed it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiormq
import psutil
import pytest

from tests.servers import rabbitmq
from tests.servers.rabbitmq import RabbitServer
from tests.servers.rabbitmq_node import RabbitNode, find_program
from tests.work.office import wait_until

ROOT = Path(__file__).resolve().parents[2]
QUORUM: dict[str, Any] = {"x-queue-type": "quorum"}


@pytest.fixture(scope="module")
def node() -> Iterator[RabbitNode]:
    """A node that may be crashed, shared by tests that each use queues of their own."""
    with RabbitNode.create() as node:
        yield node


async def put(url: str, queue: str, body: bytes) -> None:
    """A message in a quorum queue, confirmed by the broker."""
    async with await aiormq.connect(url) as connection:
        channel = await connection.channel()
        await channel.queue_declare(queue, durable=True, arguments=QUORUM)
        await channel.basic_publish(body, routing_key=queue, mandatory=True)


async def take(url: str, queue: str) -> bytes | None:
    """The next message of a queue; nothing if it is empty."""
    async with await aiormq.connect(url) as connection:
        channel = await connection.channel()
        await channel.queue_declare(queue, durable=True, arguments=QUORUM)
        message = await channel.basic_get(queue, no_ack=True, timeout=30)
        return message.body or None


async def exists(url: str, queue: str) -> bool:
    async with await aiormq.connect(url) as connection:
        channel = await connection.channel()
        try:
            await channel.queue_declare(queue, passive=True)
        except aiormq.exceptions.ChannelNotFoundEntity:
            return False
        return True


def test_an_absent_server_program_is_an_error_with_a_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(RuntimeError, match="apt-get install rabbitmq-server"):
        find_program((tmp_path,))


def test_the_wrapper_of_debian_does_not_pass_for_the_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wrapper = tmp_path / "rabbitmq-script-wrapper"
    wrapper.touch(mode=0o755)
    (tmp_path / "rabbitmq-server").symlink_to(wrapper)
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(RuntimeError, match="not found"):
        find_program((tmp_path / "elsewhere",))


def test_a_given_broker_is_used_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(rabbitmq.VARIABLE, "amqps://somebody@broker.example/mine")

    with rabbitmq.server() as given:
        assert given.url == "amqps://somebody@broker.example/mine"


def test_messages_in_quorum_queues_survive_a_crash_at_the_same_address(node: RabbitNode) -> None:
    url = node.url
    asyncio.run(put(url, "crash", b"letter"))
    node.kill()
    with pytest.raises(aiormq.exceptions.AMQPConnectionError):
        asyncio.run(take(url, "crash"))
    node.start()

    assert node.url == url
    assert asyncio.run(take(url, "crash")) == b"letter"


def test_messages_in_quorum_queues_survive_a_stop_in_good_order(node: RabbitNode) -> None:
    asyncio.run(put(node.url, "stop", b"letter"))
    node.stop()
    stopped = node.pid
    node.start()

    assert stopped is None
    assert asyncio.run(take(node.url, "stop")) == b"letter"


def test_a_wiped_node_knows_nothing_of_its_queues(node: RabbitNode) -> None:
    asyncio.run(put(node.url, "wipe", b"letter"))
    node.wipe()

    assert not asyncio.run(exists(node.url, "wipe"))


def test_a_node_listens_on_loopback_only(node: RabbitNode) -> None:
    listening = [each for each in psutil.Process(node.pid).net_connections("inet") if each.status == psutil.CONN_LISTEN]

    assert {each.laddr.port for each in listening} == {node.port, node.distribution_port}
    assert {each.laddr.ip for each in listening} == {"127.0.0.1"}


def test_a_node_leaves_nothing_behind() -> None:
    with RabbitNode.create() as node:
        directory, broker = node.directory, node.pid
        helpers = processes_in(directory)

    assert broker in helpers
    # Erlang's helpers end by themselves when the broker has, a moment later on a busy machine.
    wait_until(lambda: not processes_in(directory))
    assert not directory.exists()


def test_a_node_does_not_outlive_an_owner_who_is_killed() -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", TELL_NODE_AND_WAIT], cwd=ROOT, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True
    )
    with owner:
        assert owner.stdout is not None
        directory = Path(owner.stdout.readline().strip())
        guardian = next(
            each for each in psutil.process_iter(["cmdline"]) if str(directory) in (each.info["cmdline"] or [])
        )
        before = processes_in(directory)
        owner.kill()
        guardian.wait(60)

    assert len(before) >= 2
    assert processes_in(directory) == set()
    assert not directory.exists()


def test_a_command_is_given_a_broker_and_its_exit_code_is_passed_on() -> None:
    ended = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.servers.rabbitmq",
            "--run",
            "--",
            "sh",
            "-c",
            f"echo ${rabbitmq.VARIABLE}; exit 7",
        ],
        cwd=ROOT,
        env={**os.environ, rabbitmq.VARIABLE: "amqp://lent.example/"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (ended.returncode, ended.stdout) == (7, "amqp://lent.example/\n")


def test_what_a_test_declared_can_be_deleted_by_name(rabbit_server: RabbitServer, dispatcher: str) -> None:
    queue = f"{dispatcher}.send"
    asyncio.run(put(rabbit_server.url, queue, b"letter"))
    rabbit_server.delete(queues=[queue, f"{dispatcher}.never-declared"], exchanges=[f"{dispatcher}.never-declared"])

    assert not asyncio.run(exists(rabbit_server.url, queue))


def processes_in(directory: Path) -> set[int]:
    """Processes that work in a directory, those aside that are dead and not buried."""
    found = set()
    for process in psutil.process_iter(["cwd", "status"]):
        here = (process.info["cwd"] or "").startswith(str(directory))
        if here and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.add(process.pid)
    return found


TELL_NODE_AND_WAIT = """
import sys
from tests.servers.rabbitmq_node import RabbitNode
with RabbitNode.create() as node:
    print(node.directory, flush=True)
    sys.stdin.read()
"""

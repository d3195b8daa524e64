"""The broker itself killed, restarted and emptied, in the middle of everything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from postroom.broker.topology import Broker
from postroom.operate.dashboard import dashboard
from postroom.testing import ScriptedSmtp
from tests.broker.bureau import Bureau
from tests.servers.rabbitmq_node import RabbitNode
from tests.work.nursery import Nursery
from tests.work.office import wait_until
from tests.work.tally import check
from tests.work.test_crash import mixed


@pytest.fixture(scope="module")
def node() -> Iterator[RabbitNode]:
    """A broker that nobody else uses: it will not live long."""
    with RabbitNode.create() as node:
        yield node


@pytest.fixture
def doomed_bureau(
    migrated_postgres_url: str, server: ScriptedSmtp, tmp_path: Path, nursery: Nursery, node: RabbitNode
) -> Iterator[Bureau]:
    node.start()
    broker = Broker(url=node.url, send=f"{tmp_path.name}.send", dead=f"{tmp_path.name}.dead")
    with Bureau(migrated_postgres_url, server, tmp_path, nursery, broker) as bureau:
        yield bureau


@pytest.mark.parametrize("fate", ["killed", "stopped", "wiped"])
def test_a_broker_that_dies_in_the_middle_loses_and_doubles_nothing(
    doomed_bureau: Bureau, node: RabbitNode, fate: str
) -> None:
    """(D4, D7) Enqueues go on meanwhile; schedulers and senders find the broker again by themselves."""
    bureau = doomed_bureau
    ids = mixed(bureau, resend=60, hold=30)
    bureau.server.script(at="dot", delay=0.02)
    running = [bureau.start_scheduler(), bureau.start_scheduler()]
    running += [bureau.start_sender(options="connections=2") for _ in range(3)]
    wait_until(lambda: len(bureau.server.messages) >= 30)

    if fate == "wiped":
        node.wipe()
        ids += mixed(bureau, resend=20, hold=10)
    else:
        node.stop() if fate == "stopped" else node.kill()
        ids += mixed(bureau, resend=20, hold=10)
        node.start()

    wait_until(lambda: not bureau.unfinished())
    bureau.dismiss(running)
    tally = check(bureau, ids)
    assert (tally.doubted, tally.second_copies) == (0, 0)
    assert len(ids) == 120


def test_a_broker_short_of_memory_is_told_of_and_served_again_when_it_has_some(
    doomed_bureau: Bureau, node: RabbitNode
) -> None:
    bureau = doomed_bureau
    running = [bureau.start_scheduler(), bureau.start_sender()]
    with node.short_of_memory():
        ids = mixed(bureau, resend=20, hold=10)
        wait_until(lambda: "takes no messages: low on memory" in told_of_the_broker(bureau))
        ids += mixed(bureau, resend=20, hold=10)
    wait_until(lambda: not bureau.unfinished())
    wait_until(lambda: "is connected" in told_of_the_broker(bureau))
    bureau.dismiss(running)

    tally = check(bureau, ids)
    assert (tally.doubted, tally.second_copies) == (0, 0)


def told_of_the_broker(bureau: Bureau) -> str:
    """What the desk says."""
    return bureau.outbox.database.run(dashboard({}), writes=False).broker_sentence


def test_while_the_broker_is_dead_senders_may_drain_the_database(doomed_bureau: Bureau, node: RabbitNode) -> None:
    bureau = doomed_bureau
    running = [bureau.start_scheduler(), bureau.start_sender(POSTROOM_BROKER_OUTAGE="direct")]
    first = mixed(bureau, resend=20, hold=10)
    wait_until(lambda: not bureau.unfinished())
    node.kill()

    second = mixed(bureau, resend=20, hold=10)
    wait_until(lambda: not bureau.unfinished())
    assert node.pid is None
    bureau.dismiss(running)
    tally = check(bureau, first + second)
    assert (tally.doubted, tally.second_copies) == (0, 0)

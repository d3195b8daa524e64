"""The broker away, the network cut, the queues emptied: emails wait, or go another way, and each is sent once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from importlib import import_module
from typing import Any

import pytest

from postroom import Status
from postroom.broker.feed import Outage
from postroom.broker.topology import Broker
from postroom.errors import StoreUnavailable
from postroom.store import dispatch
from postroom.testing import FaultProxy
from postroom.work.breakers import pause, resume
from tests.broker.bureau import Bureau
from tests.broker.hatch import eventually
from tests.broker.network import port_of, through
from tests.broker.test_sending import all_sent
from tests.work.office import LIMITS, until
from tests.work.tally import check

SOON = timedelta(seconds=1)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is waited for here is known to be away."""
    monkeypatch.setattr("postroom.broker.feed.AWAY", 0.1)
    monkeypatch.setattr("postroom.broker.link.FIRST_PAUSE", 0.1)
    monkeypatch.setattr("postroom.broker.link.LAST_PAUSE", 0.2)


async def test_a_sender_may_turn_to_the_database_while_the_broker_is_away_and_back(
    any_bureau: Bureau, broker: Broker
) -> None:
    bureau = any_bureau
    with FaultProxy(target_port=port_of(broker)) as network:
        network.refuse()
        async with bureau.sending(broker=through(network, broker), outage=Outage.DIRECT):
            first = bureau.enqueue(30)
            await all_sent(bureau, first)
            network.accept()
            await eventually(lambda: bureau.hatch.consumers(bureau.queue), bool)
            second = bureau.enqueue(30)
            async with bureau.scheduling():
                await all_sent(bureau, second)

    check(bureau, first + second)
    assert set(bureau.server.copies_of_all().values()) == {1}
    assert bureau.meter.counts["confirmed"] == 30


async def test_what_is_queued_when_the_broker_goes_is_sent_the_other_way_when_its_lease_ends(
    bureau: Bureau, broker: Broker
) -> None:
    """And its message, when the broker is back with it, is stale."""
    ids = bureau.enqueue(20)
    with FaultProxy(target_port=port_of(broker)) as network:
        away = through(network, broker)
        async with bureau.scheduling(broker=away, lease=SOON):
            await until(lambda: bureau.meter.counts["confirmed"] >= 20)
            network.refuse()
            async with bureau.sending(broker=away, outage=Outage.DIRECT):
                await all_sent(bureau, ids)
                network.accept()
                await until(lambda: bureau.meter.counts["stale"] >= 20)

    check(bureau, ids)
    assert set(bureau.server.copies_of_all().values()) == {1}


async def test_a_sender_waits_for_the_broker_unless_told_otherwise(
    bureau: Bureau, broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    with FaultProxy(target_port=port_of(broker)) as network:
        network.refuse()
        away = through(network, broker)
        async with bureau.scheduling(broker=away), bureau.sending(broker=away):
            ids = bureau.enqueue(10)
            await until(
                lambda: sum(getattr(record, "event", "") == "the broker is away" for record in caplog.records) >= 8
            )
            assert bureau.statuses(ids) == {Status.PENDING}
            network.accept()
            await all_sent(bureau, ids)

    check(bureau, ids)


async def test_a_sender_that_waits_for_a_broker_can_be_stopped(
    bureau: Bureau, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postroom.broker.link.REACH", 3_600.0)
    with FaultProxy(target_port=port_of(broker)) as network:
        network.stall()
        async with bureau.sending(broker=through(network, broker)):
            await until(lambda: network.connections >= 1)

    assert bureau.outbox.counts()["sending"] == 0


@pytest.mark.parametrize("whose", ["scheduler", "sender", "both"])
async def test_a_network_that_is_cut_again_and_again_loses_and_doubles_nothing(
    bureau: Bureau, broker: Broker, whose: str
) -> None:
    ids = bureau.enqueue(200)
    bureau.server.script(at="dot", delay=0.02)
    with FaultProxy(target_port=port_of(broker)) as network:
        shaky = through(network, broker)
        scheduling = bureau.scheduling(broker=broker if whose == "sender" else shaky, lease=SOON, ahead=40)
        sending = bureau.sending(
            broker=broker if whose == "scheduler" else shaky, options=f"connections=4&{LIMITS}", prefetch=10
        )
        async with scheduling, sending:
            for cuts in range(1, 5):
                await until(lambda cuts=cuts: len(bureau.server.messages) >= 30 * cuts)  # type: ignore[misc]
                before = network.connections
                network.cut()
                await until(lambda before=before: network.connections > before)  # type: ignore[misc]
            await all_sent(bureau, ids)

    tally = check(bureau, ids)
    assert tally.doubted == 0
    assert set(bureau.server.copies_of_all().values()) == {1}


async def test_a_network_that_goes_silent_is_noticed_and_left(bureau: Bureau, broker: Broker) -> None:
    """No byte and no end: only the missing heartbeats tell."""
    ids = bureau.enqueue(60)
    bureau.server.script(at="dot", delay=0.02)
    with FaultProxy(target_port=port_of(broker)) as network:
        silent = through(network, broker)
        silent = replace(silent, url=f"{silent.url}?heartbeat=1")
        async with bureau.scheduling(lease=SOON), bureau.sending(broker=silent, prefetch=5):
            await until(lambda: len(bureau.server.messages) >= 10)
            connections = network.connections
            network.stall()
            await until(lambda: network.connections > connections)  # it has given the old one up
            network.resume()
            await all_sent(bureau, ids)

    check(bureau, ids)
    assert set(bureau.server.copies_of_all().values()) == {1}


async def test_messages_in_hand_outlast_a_database_that_is_away(
    bureau: Bureau, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No message is forgotten, or the sender would run out of those it may hold; no lease ends to help it."""
    claim, failures = dispatch.claim_queued, iter(range(6))

    def fail_at_first(*arguments: Any, **named: Any) -> Any:
        if next(failures, None) is not None:
            raise StoreUnavailable("away")
        return claim(*arguments, **named)

    monkeypatch.setattr(dispatch, "claim_queued", fail_at_first)
    ids = bureau.enqueue(20)
    async with bureau.scheduling(lease=timedelta(days=1)), bureau.sending(prefetch=2):
        await all_sent(bureau, ids)

    assert next(failures, None) is None
    assert bureau.meter.counts == {"confirmed": 20}


async def test_queues_that_are_purged_again_and_again_lose_nothing(bureau: Bureau) -> None:
    ids = bureau.enqueue(150)
    bureau.server.script(at="dot", delay=0.01)
    async with bureau.scheduling(lease=SOON), bureau.sending(options=f"connections=2&{LIMITS}", prefetch=5):
        for count in (10, 40, 70):
            await until(lambda count=count: len(bureau.server.messages) >= count)  # type: ignore[misc]
            await bureau.hatch.purge(*bureau.queues)
        await all_sent(bureau, ids)

    check(bureau, ids)
    assert bureau.meter.counts["requeued"] > 0
    assert set(bureau.server.copies_of_all().values()) == {1}


SCHEDULERS_QUESTIONS = [
    "dispatch.reserve",
    "dispatch.confirm_queued",
    "dispatch.requeue",
    "dispatch.unannounced",
    "questions.next_due",
    "heartbeats.beat",
    "overview.clock",
]


@pytest.mark.parametrize("question", SCHEDULERS_QUESTIONS)
async def test_a_scheduler_waits_for_a_database_that_fails_it_anywhere_and_goes_on(
    bureau: Bureau, monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    """Whatever it asks: what it had in hand is due again when its lease ends."""
    failures = fail_at_first(monkeypatch, question)
    monkeypatch.setattr("postroom.broker.scheduler.ANNOUNCE", 0.1)
    monkeypatch.setattr("postroom.broker.scheduler.BEAT", 0.1)
    first = bureau.enqueue(5)
    async with bureau.scheduling(lease=SOON, ahead=5), bureau.sending():
        await all_sent(bureau, first)
        await until(lambda: next(failures, None) is None)
        second = bureau.enqueue(5)
        await all_sent(bureau, first + second)

    check(bureau, first + second)
    assert set(bureau.server.copies_of_all().values()) == {1}


SENDERS_QUESTIONS = ["dispatch.claim_queued", "dispatch.unqueue", "heartbeats.beat", "claims.settle", "claims.renew"]


@pytest.mark.parametrize("question", SENDERS_QUESTIONS)
async def test_a_sender_waits_for_a_database_that_fails_it_anywhere_and_goes_on(
    bureau: Bureau, monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    fail_at_first(monkeypatch, question)
    ids = bureau.enqueue(20)
    bureau.server.script(at="dot", delay=0.02)
    async with bureau.scheduling(lease=SOON), bureau.sending(options=f"connections=1&{LIMITS}", lease=SOON) as sender:
        await until(lambda: len(bureau.server.messages) >= 3)
        bureau.outbox.database.run(pause("default", "by hand"))
        await until(lambda: not sender.engine.routes["default"].minder.may_send())
        bureau.outbox.database.run(resume("default"))
        await all_sent(bureau, ids)

    check(bureau, ids)
    assert set(bureau.server.copies_of_all().values()) == {1}


def fail_at_first(monkeypatch: pytest.MonkeyPatch, question: str) -> Iterator[int]:
    """Let the database be away the first few times that it is asked this; what is left of the failures."""
    module, _, verb = question.partition(".")
    ask, failures = getattr(import_module(f"postroom.store.{module}"), verb), iter(range(3))

    def asked(*arguments: Any, **named: Any) -> Any:
        if next(failures, None) is not None:
            raise StoreUnavailable("away")
        return ask(*arguments, **named)

    monkeypatch.setattr(f"postroom.store.{module}.{verb}", asked)
    return failures

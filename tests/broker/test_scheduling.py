"""What a scheduler publishes, and what it leaves due."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest

from postroom import DeadReason, RetryPolicy, Status
from postroom.broker.link import Session
from postroom.broker.message import decode
from postroom.broker.topology import Broker
from postroom.store import heartbeats
from postroom.store.dispatch import Named
from postroom.testing import FaultProxy
from postroom.vocabulary import LANES, Priority
from tests.broker.bureau import Bureau
from tests.broker.network import port_of, through
from tests.work.office import until

A_DAY = timedelta(days=1)


async def test_due_emails_are_named_in_messages_and_queued(any_bureau: Bureau) -> None:
    """(D3)"""
    bureau = any_bureau
    ids = bureau.enqueue(5)
    async with bureau.scheduling():
        await until(lambda: all(bureau.get(id).last_queued_at for id in ids))
        messages = await bureau.hatch.take(bureau.queue)

    assert [json.loads(message.body) for message in messages] == [
        {"emailId": id, "messageKey": f"{id}:1"} for id in ids
    ]
    properties = [message.header.properties for message in messages]
    assert {each.delivery_mode for each in properties} == {2}
    assert [each.message_id for each in properties] == [f"{id}:1" for id in ids]
    assert bureau.statuses(ids) == {Status.QUEUED}
    assert bureau.meter.counts == {"confirmed": 5}


async def test_an_email_enqueued_while_the_scheduler_rests_wakes_it(bureau: Bureau) -> None:
    async with bureau.scheduling(interval=A_DAY):
        [first] = bureau.enqueue()
        await until(lambda: bureau.get(first).last_queued_at is not None)
        [second] = bureau.enqueue()
        await until(lambda: bureau.get(second).last_queued_at is not None)

    assert await bureau.hatch.depth(bureau.queue) == 2


async def test_an_email_is_published_when_its_time_has_come(bureau: Bureau) -> None:
    [later] = bureau.enqueue(not_before=bureau.sql("SELECT now() + interval '1 second'")[0][0])
    async with bureau.scheduling(interval=A_DAY):
        assert bureau.get(later).status is Status.PENDING
        await until(lambda: bureau.get(later).status is Status.QUEUED)

    assert bureau.get(later).next_attempt_at is None


async def test_each_lane_and_each_retry_has_its_queue(bureau: Bureau, retry_broker: Broker) -> None:
    ids = {lane: bureau.enqueue(priority=lane.label)[0] for lane in LANES}
    [retried] = bureau.enqueue()
    bureau.sql("UPDATE {emails} SET status = 'retrying', attempts = 1 WHERE id = ?", retried)
    async with bureau.scheduling(broker=retry_broker):
        await until(lambda: bureau.statuses([*ids.values(), retried]) == {Status.QUEUED})
        await until(lambda: bureau.meter.counts["confirmed"] == 4)
        found = {queue: await bureau.hatch.take(queue) for lane in LANES for queue in retry_broker.queues(lane)}

    named = {queue: [decode(message.body) for message in messages] for queue, messages in found.items()}
    assert {queue: messages for queue, messages in named.items() if messages} == {
        **{retry_broker.queue(lane, 1): [Named(id, 1)] for lane, id in ids.items()},
        retry_broker.queue(Priority.NORMAL, 2): [Named(retried, 2)],
    }


async def test_two_schedulers_publish_every_email_once(bureau: Bureau) -> None:
    """(D2)"""
    ids = bureau.enqueue(700)
    async with bureau.scheduling(), bureau.scheduling():
        await until(lambda: bureau.meter.counts["confirmed"] >= 700)

    named = [decode(message.body) for message in await bureau.hatch.take(bureau.queue)]
    assert sorted(each.id for each in named) == sorted(ids)
    assert {each.attempt for each in named} == {1}


async def test_the_backlog_in_the_broker_is_bounded(bureau: Bureau) -> None:
    """What senders have not taken waits in the database, where it can be cancelled, counted and overtaken."""
    ids = bureau.enqueue(120)
    async with bureau.scheduling(ahead=50):
        await until(lambda: bureau.meter.counts["confirmed"] == 50)
        [urgent] = bureau.enqueue(priority="urgent")
        await until(lambda: bureau.get(urgent).last_queued_at is not None)
        assert await bureau.hatch.depth(bureau.queue) == bureau.meter.counts["confirmed"] - 1 == 50
        await bureau.hatch.take(bureau.queue, most=20)
        await until(lambda: bureau.meter.counts["confirmed"] == 71)
        assert await bureau.hatch.depth(bureau.queue) == 50

    statuses = [bureau.get(id).status for id in ids]
    assert statuses == [Status.QUEUED] * 70 + [Status.PENDING] * 50


# ---------------------------------------------------------------- what is not published stays due


@dataclass(frozen=True, slots=True, kw_only=True)
class Misled(Broker):
    """Sends messages where no queue is."""

    def queue(self, lane: Priority, attempt: int) -> str:
        return "nobody.has.declared.this"


async def test_a_message_that_no_queue_takes_leaves_its_email_due(bureau: Bureau, broker: Broker) -> None:
    """(D4) `mandatory`: the broker returns it."""
    ids = bureau.enqueue(3)
    misled = Misled(url=broker.url, send=broker.send, dead=broker.dead)
    async with bureau.scheduling(broker=misled):
        await until(lambda: bureau.meter.counts["returned"] >= 6)

    assert bureau.statuses(ids) == {Status.PENDING}
    assert all(bureau.get(id).next_attempt_at for id in ids)
    assert bureau.meter.counts["confirmed"] == 0


async def test_a_queue_that_is_gone_is_declared_anew(bureau: Bureau) -> None:
    async with bureau.scheduling(interval=timedelta(milliseconds=100)) as scheduler:
        await until(lambda: scheduler.link.connected)
        await bureau.hatch.delete(*bureau.queues)
        ids = bureau.enqueue(3)
        await until(lambda: all(bureau.get(id).last_queued_at for id in ids))

    assert sorted(decode(each.body).id for each in await bureau.hatch.take(bureau.queue)) == ids


@pytest.mark.parametrize("trouble", ["cut", "stall", "refuse"])
async def test_a_message_that_is_not_confirmed_leaves_its_email_due(
    bureau: Bureau, broker: Broker, monkeypatch: pytest.MonkeyPatch, trouble: str
) -> None:
    """(D4) The network fails between the reservation and the broker's word. No lease has to end for the next try."""
    publish = Session.publish

    async def fail_once(session: Session, postings: Any) -> Any:
        monkeypatch.setattr(Session, "publish", publish)
        getattr(network, trouble)()
        return await publish(session, postings)

    monkeypatch.setattr(Session, "publish", fail_once)
    monkeypatch.setattr("postroom.broker.link.REACH", 1.0)
    with FaultProxy(target_port=port_of(broker)) as network:
        broker = replace(through(network, broker), confirm_limit=timedelta(seconds=0.5))
        [id] = bureau.enqueue()
        async with bureau.scheduling(broker=broker, lease=A_DAY):
            await until(lambda: bureau.meter.counts["unconfirmed"] >= 1)
            network.resume()
            network.accept()
            await until(lambda: bureau.get(id).last_queued_at is not None)

    assert bureau.meter.counts["confirmed"] >= 1
    assert {decode(each.body) for each in await bureau.hatch.take(bureau.queue)} == {Named(id, 1)}


async def test_an_email_whose_message_is_lost_is_published_again(bureau: Bureau) -> None:
    """(D7)"""
    ids = bureau.enqueue(4)
    async with bureau.scheduling(lease=timedelta(seconds=1)):
        await until(lambda: all(bureau.get(id).last_queued_at for id in ids))
        await bureau.hatch.purge(bureau.queue)
        await until(lambda: bureau.meter.counts["confirmed"] >= 8)

    assert bureau.meter.counts["requeued"] >= 4
    assert {decode(each.body) for each in await bureau.hatch.take(bureau.queue)} == {Named(id, 1) for id in ids}


async def test_a_cancelled_email_is_not_published_again(bureau: Bureau) -> None:
    [id] = bureau.enqueue()
    async with bureau.scheduling(lease=timedelta(milliseconds=100)):
        await until(lambda: bureau.get(id).last_queued_at is not None)
        # Not in this thread: the scheduler, whose loop this is, may hold the email in a transaction it could not end.
        await asyncio.to_thread(bureau.outbox.cancel, id)
        [other] = bureau.enqueue()
        await until(lambda: bureau.meter.counts["requeued"] >= 2)

    assert bureau.get(id).status is Status.CANCELLED
    assert bureau.get(other).status in (Status.QUEUED, Status.PENDING)


# ---------------------------------------------------------------- the dead


async def test_a_due_email_without_an_attempt_left_is_given_up_and_told_of(bureau: Bureau) -> None:
    """(D5)"""
    [id] = bureau.enqueue(policy=RetryPolicy(steps=["1s"], max_attempts=3, name="three"))
    bureau.sql(
        "UPDATE {emails} SET status = 'retrying', attempts = 3, last_error = ? WHERE id = ?",
        "451 <person0@example.org> is busy",
        id,
    )
    async with bureau.scheduling():
        await until(lambda: bureau.meter.counts["announced"] == 1)

    stored = bureau.get(id)
    assert (stored.status, stored.dead_reason) == (Status.DEAD, DeadReason.MAX_ATTEMPTS)
    assert stored.last_error == "451 <person0@example.org> is busy"
    [news] = await bureau.obituaries()
    assert (news["emailId"], news["reason"], news["attempts"]) == (id, "max_attempts", 3)
    assert news["lastError"] == "451 <[address]> is busy"
    assert await bureau.hatch.depth(bureau.queue) == 0


async def test_the_news_of_a_death_waits_for_the_queue_it_belongs_into(bureau: Bureau) -> None:
    async with bureau.scheduling() as scheduler:
        await until(lambda: scheduler.link.connected)
        await bureau.hatch.delete(bureau.broker.dead)
        [id] = bureau.enqueue()
        bureau.sql("UPDATE {emails} SET attempts = max_attempts WHERE id = ?", id)
        await until(lambda: bureau.meter.counts["announced"] == 1)

    assert [news["emailId"] for news in await bureau.obituaries()] == [id]


# ---------------------------------------------------------------- the broker away


async def test_while_the_broker_is_away_emails_are_taken_and_wait(
    bureau: Bureau, broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    """(D4) The scheduler says so, tries again a little later each time, and says when it is back."""
    caplog.set_level(logging.INFO, logger="postroom")
    with FaultProxy(target_port=port_of(broker)) as network:
        network.refuse()
        async with bureau.scheduling(broker=through(network, broker)) as scheduler:
            ids = bureau.enqueue(3)
            await until(
                lambda: sum(getattr(record, "event", "") == "the broker is away" for record in caplog.records) >= 2
            )
            assert bureau.statuses(ids) == {Status.PENDING}
            assert not scheduler.link.connected
            network.accept()
            await until(lambda: all(bureau.get(id).last_queued_at for id in ids))

    said = [
        record
        for record in caplog.records
        if getattr(record, "event", "") in ("the broker is away", "the broker is there")
    ]
    pauses = [vars(record)["again_in_seconds"] for record in said[:-1]]
    assert vars(said[-1])["event"] == "the broker is there"
    assert pauses == [0.5 * 2**n for n in range(len(pauses))]
    password = broker.url.split(":")[2].split("@")[0]
    assert not any(password in str(vars(record)) for record in caplog.records)


async def test_the_heartbeat_tells_how_the_broker_looks(bureau: Bureau, broker: Broker) -> None:
    def beats() -> list[dict[str, Any]]:
        seen = bureau.outbox.database.run(heartbeats.workers())
        return [json.loads(each.broker or "{}") for each in seen if each.role == "scheduler"]

    with FaultProxy(target_port=port_of(broker)) as network:
        network.refuse()
        async with bureau.scheduling(broker=through(network, broker)):
            await until(lambda: bool(beats()))
            [away] = beats()

    assert (away["connected"], away["name"]) == (False, f"127.0.0.1:{network.port}/")
    assert away["reason"]
    assert beats() == []


async def test_a_scheduler_that_waits_for_a_broker_can_be_stopped(
    bureau: Bureau, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even in the middle of a connection to a broker that does not answer."""
    monkeypatch.setattr("postroom.broker.link.REACH", 3_600.0)
    with FaultProxy(target_port=port_of(broker)) as network:
        network.stall()
        async with bureau.scheduling(broker=through(network, broker)) as scheduler:
            await until(lambda: network.connections >= 1)

    assert not scheduler.link.connected


async def test_every_scheduling_action_has_a_line_in_the_log(bureau: Bureau, caplog: pytest.LogCaptureFixture) -> None:
    """(D8)"""
    caplog.set_level(logging.INFO, logger="postroom")
    published, spent = bureau.enqueue(2)
    bureau.sql("UPDATE {emails} SET attempts = max_attempts WHERE id = ?", spent)
    async with bureau.scheduling(lease=timedelta(seconds=1)):
        await until(lambda: bureau.meter.counts["requeued"] >= 1)

    lines = [vars(record) for record in caplog.records if "email_id" in vars(record)]
    told = {(line["email_id"], line["event"]): line for line in lines}
    assert told[published, "email published"]["attempt"] == 1
    assert told[published, "email published"]["queue"] == bureau.queue
    assert told[published, "email published"]["next_attempt"]
    assert told[published, "email due again"]["why"] == "its message was lost"
    assert told[spent, "email skipped"]["why"] == "no attempt left"


async def test_a_scheduler_that_is_to_stop_when_nothing_is_due_does(bureau: Bureau) -> None:
    ids = bureau.enqueue(5)
    bureau.enqueue(not_before=bureau.sql("SELECT now() + interval '1 day'")[0][0])
    async with bureau.scheduling(until_idle=True) as scheduler:
        await until(scheduler.stopping.is_set)

    assert bureau.statuses(ids) == {Status.QUEUED}
    assert await bureau.hatch.depth(bureau.queue) == 5

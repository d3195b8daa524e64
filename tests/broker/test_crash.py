"""Schedulers, senders and the broker killed at every point, and what the mail server received in the end.

The short form; `make storm ARGS=--broker` is the long one.
"""

from __future__ import annotations

import asyncio
import random
import shutil

import pytest

from postroom import EmailId, Status
from postroom.broker.topology import Broker
from postroom.testing import FaultProxy
from tests.broker.bureau import Bureau
from tests.broker.hatch import eventually
from tests.broker.network import port_of, through
from tests.work.assassin import Assassin
from tests.work.nursery import WorkerProcess
from tests.work.office import wait_until
from tests.work.tally import check
from tests.work.test_crash import killed, mixed

IN_SCHEDULER = ("reserved:1", "published:1", "marked:1")
IN_SENDER = {
    **dict.fromkeys(("claimed:1", "before_dot:2", "journalled:2"), 0),
    **dict.fromkeys(("received:3", "reply_read:2", "before_settle:1", "after_settle:1", "before_ack:1", "acked:1"), 1),
}
"""With how many dots on their way a sender with one connection may be at each."""


@pytest.mark.parametrize("place", IN_SCHEDULER)
def test_a_scheduler_killed_at_any_place_of_its_own_loses_and_doubles_nothing(bureau: Bureau, place: str) -> None:
    ids = mixed(bureau)
    sender = bureau.start_sender()
    scheduler = bureau.start_scheduler(POSTROOM_FAILPOINT=place)

    assert killed(scheduler)
    bureau.dispatch()
    bureau.dismiss([sender])
    tally = check(bureau, ids)
    assert (tally.doubted, tally.second_copies) == (0, 0)


@pytest.mark.parametrize("place", IN_SENDER)
def test_a_sender_killed_at_any_place_of_its_own_loses_nothing_and_doubles_nothing_silently(
    bureau: Bureau, place: str
) -> None:
    ids = mixed(bureau)
    scheduler = bureau.start_scheduler()
    sender = bureau.start_sender(options="connections=1", POSTROOM_FAILPOINT=place)

    assert killed(sender)
    bureau.dispatch()
    bureau.dismiss([scheduler])
    tally = check(bureau, ids)
    assert tally.doubted <= IN_SENDER[place]


def test_on_sqlite_too_nothing_is_lost_with_a_scheduler_and_a_sender(sqlite_bureau: Bureau) -> None:
    ids = mixed(sqlite_bureau)
    assert killed(sqlite_bureau.start_scheduler(POSTROOM_FAILPOINT="published:1"))
    scheduler = sqlite_bureau.start_scheduler()
    assert killed(sqlite_bureau.start_sender(options="connections=1", POSTROOM_FAILPOINT="journalled:3"))
    sqlite_bureau.dispatch()
    sqlite_bureau.dismiss([scheduler])

    assert check(sqlite_bureau, ids).doubted == 0


@pytest.mark.parametrize("moment", ["data", "dot received", "dot answered"])
def test_a_sender_killed_in_the_middle_of_the_conversation_loses_nothing_and_doubles_nothing_silently(
    bureau: Bureau, moment: str
) -> None:
    ids = mixed(bureau, resend=8, hold=4)
    process: list[WorkerProcess] = []
    assassin = Assassin(bureau.server, moment, nth=3, victim=lambda: process[0].pid)
    scheduler = bureau.start_scheduler()
    process.append(bureau.start_sender())

    assert killed(process[0])
    assert assassin.struck.is_set()
    bureau.dispatch()
    bureau.dismiss([scheduler])
    check(bureau, ids)


@pytest.mark.parametrize(("place", "left"), [("before_settle:1", 1), ("before_ack:1", 1), ("acked:1", 0)])
def test_a_message_is_acknowledged_when_its_email_is_settled_and_no_sooner(
    bureau: Bureau, place: str, left: int
) -> None:
    """(D7) Until then it belongs to whoever comes next."""
    bureau.enqueue()
    scheduler = bureau.start_scheduler(POSTROOM_DISPATCH_LEASE="1h")
    sender = bureau.start_sender(POSTROOM_FAILPOINT=place)

    assert killed(sender)
    asyncio.run(eventually(lambda: bureau.hatch.consumers(bureau.queue), lambda consumers: consumers == 0))
    asyncio.run(eventually(lambda: bureau.hatch.depth(bureau.queue), lambda depth: depth == left))
    bureau.dispatch()
    bureau.dismiss([scheduler])
    assert len(bureau.server.messages) == 1


def test_without_the_journal_of_the_dead_what_cannot_be_known_is_in_doubt(bureau: Bureau) -> None:
    """The sender died with its disk: its messages go to another, who must not take them for untouched emails."""
    ids = mixed(bureau, resend=8, hold=4)
    scheduler = bureau.start_scheduler()
    sender = bureau.start_sender(POSTROOM_FAILPOINT="reply_read:3")

    assert killed(sender)
    shutil.rmtree(bureau.journals)
    bureau.dispatch()
    bureau.dismiss([scheduler])
    check(bureau, ids)


@pytest.mark.parametrize("manner", ["soon", "fork"])
def test_what_a_killed_application_was_sending_inline_is_left_to_schedulers_and_senders(
    bureau: Bureau, manner: str
) -> None:
    process: list[WorkerProcess] = []
    Assassin(bureau.server, "dot answered", nth=7, victim=lambda: process[0].pid)
    process.append(bureau.start_application(manner, lease="1s", POSTROOM_INLINE_LIMIT="300ms"))

    assert killed(process[0])
    wait_until(bureau.applications_are_gone)
    bureau.dispatch()
    assert check(bureau, []).inline > 0


def test_a_scheduler_killed_before_it_noted_whom_it_told_of_tells_again(bureau: Bureau) -> None:
    """(D5) Under the same message id: whoever listens can tell that it is the same news."""
    bureau.server.script(at="rcpt", reply="550 5.1.1 no such user")
    [id] = bureau.enqueue()
    sender = bureau.start_sender()
    scheduler = bureau.start_scheduler(POSTROOM_FAILPOINT="announced:1")

    assert killed(scheduler)
    healthy = bureau.start_scheduler()
    wait_until(lambda: bureau.sql("SELECT announced_at FROM {emails}") != [(None,)])
    bureau.dismiss([sender, healthy])
    news = asyncio.run(bureau.hatch.take(bureau.broker.dead))
    assert bureau.get(id).status is Status.DEAD
    assert len(news) == 2
    assert len({each.header.properties.message_id for each in news}) == 1


@pytest.mark.parametrize("pair", ["scheduler-database", "sender-database", "sender-broker", "sender-server"])
def test_a_network_cut_between_any_two_loses_nothing_and_doubles_nothing_silently(
    bureau: Bureau, broker: Broker, pair: str
) -> None:
    who, _, whom = pair.partition("-")
    ids = mixed(bureau, resend=80, hold=40)
    bureau.server.script(at="dot", delay=0.02)
    ports = {"database": _port(bureau.url), "broker": port_of(broker), "server": bureau.server.port}
    with FaultProxy(target_port=ports[whom]) as network:
        detour = {
            "database": {"POSTROOM_DATABASE": bureau.url.replace(f":{ports[whom]}/", f":{network.port}/")},
            "broker": {"POSTROOM_BROKER": through(network, broker).url},
            "server": {"POSTROOM_SMTP": f"smtp://127.0.0.1:{network.port}?connections=4"},
        }[whom]
        scheduler = bureau.start_scheduler(**detour if who == "scheduler" else {})
        sender = bureau.start_sender(options="connections=4", **detour if who == "sender" else {})
        for count in (20, 40, 60):
            wait_until(lambda count=count: len(bureau.server.messages) >= count)  # type: ignore[misc]
            network.cut()
        wait_until(lambda: not bureau.unfinished())
        bureau.dismiss([scheduler, sender])

    tally = check(bureau, ids)
    assert pair == "sender-server" or tally.doubted == 0


def test_two_schedulers_and_three_senders_killed_one_after_another_lose_nothing(bureau: Bureau) -> None:
    """With copies of messages thrown in, in any order, and the queue emptied once."""
    dice = random.Random(21)
    ids = mixed(bureau, resend=120, hold=60)
    schedulers = [bureau.start_scheduler(POSTROOM_FAILPOINT=place) for place in dice.sample(IN_SCHEDULER, 2)]
    senders = [
        bureau.start_sender(options="connections=2", POSTROOM_FAILPOINT=place)
        for place in dice.sample(list(IN_SENDER), 3)
    ]

    for process in schedulers:
        assert killed(process)
    healthy = [bureau.start_scheduler(), bureau.start_scheduler()]
    for process in senders:
        assert killed(process)
    shuffle_and_copy(bureau, ids, dice)
    healthy += [bureau.start_sender(), bureau.start_sender()]
    wait_until(lambda: len(bureau.server.messages) >= 20)
    asyncio.run(bureau.hatch.purge(bureau.queue))
    bureau.dispatch()
    bureau.dismiss(healthy)
    check(bureau, ids)


def shuffle_and_copy(bureau: Bureau, ids: list[EmailId], dice: random.Random) -> None:
    """What waits in the queue, twice and in another order, between names that are true of nobody."""
    bodies = [message.body for message in asyncio.run(bureau.hatch.take(bureau.queue))] * 2
    bodies += [b'{"emailId":"%b","messageKey":"%b:%d"}' % (id.encode(), id.encode(), 1) for id in ids]
    dice.shuffle(bodies)
    asyncio.run(bureau.hatch.put(bureau.queue, *bodies))


def test_no_password_is_in_any_log(bureau: Bureau, broker: Broker) -> None:
    """Not in good times, and not when the broker goes away under everybody's hands."""
    with FaultProxy(target_port=port_of(broker)) as network:
        url = through(network, broker).url
        running = [bureau.start_scheduler(POSTROOM_BROKER=url), bureau.start_sender(POSTROOM_BROKER=url)]
        ids = bureau.enqueue(5)
        wait_until(lambda: bureau.statuses(ids) == {Status.SENT})
        network.refuse()
        wait_until(lambda: bureau.logs().count("the broker is away") >= 2)
        bureau.dismiss(running)

    assert "the broker is lost" in bureau.logs()
    assert url.split(":")[2].split("@")[0] not in bureau.logs()


def _port(url: str) -> int:
    return int(url.rpartition("/")[0].rpartition(":")[2])

"""What queues are called, and which email goes where."""

from __future__ import annotations

import pytest

from postroom.broker.amqp.address import broker_name
from postroom.broker.topology import Broker
from postroom.vocabulary import LANES, Priority

PLAIN = Broker(url="amqp://localhost/")
WITH_RETRY = Broker(url="amqp://localhost/", retry="email.dispatcher.retry")


def test_the_queues_are_called_as_was_agreed_on() -> None:
    """(D3, D5)"""
    assert PLAIN.queue(Priority.NORMAL, 1) == "email.dispatcher.send"
    assert PLAIN.queue(Priority.URGENT, 1) == "email.dispatcher.send.urgent"
    assert PLAIN.queue(Priority.BULK, 1) == "email.dispatcher.send.bulk"
    assert PLAIN.dead == "email.dispatcher.dead"


@pytest.mark.parametrize("lane", Priority)
@pytest.mark.parametrize("attempt", [1, 2, 9])
def test_without_a_queue_for_retries_every_attempt_goes_the_same_way(lane: Priority, attempt: int) -> None:
    assert PLAIN.queue(lane, attempt) == PLAIN.queue(lane, 1)
    assert PLAIN.queues(lane) == (PLAIN.queue(lane, 1),)


@pytest.mark.parametrize("lane", Priority)
def test_with_a_queue_for_retries_the_first_attempt_alone_goes_the_old_way(lane: Priority) -> None:
    assert WITH_RETRY.queue(lane, 1) == PLAIN.queue(lane, 1)
    assert WITH_RETRY.queue(lane, 2) == WITH_RETRY.queue(lane, 3) == PLAIN.queue(lane, 1).replace("send", "retry")
    assert set(WITH_RETRY.queues(lane)) == {WITH_RETRY.queue(lane, 1), WITH_RETRY.queue(lane, 2)}


@pytest.mark.parametrize("broker", [PLAIN, WITH_RETRY])
def test_no_two_lanes_share_a_queue_and_none_is_the_one_of_the_dead(broker: Broker) -> None:
    queues = [queue for lane in LANES for queue in broker.queues(lane)] + [broker.dead, broker.exchange]

    assert len(set(queues)) == len(queues)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("amqp://user:secret@rabbit.example.org/", "rabbit.example.org:5672/"),
        ("amqps://user:secret@rabbit.example.org/mail", "rabbit.example.org:5671/mail"),
        ("amqp://user:s%40cret@10.0.0.1:1234/%2f?heartbeat=5", "10.0.0.1:1234/%2f"),
        ("amqp://", "localhost:5672"),
    ],
)
def test_a_broker_is_named_without_user_and_password(url: str, name: str) -> None:
    assert broker_name(url) == name

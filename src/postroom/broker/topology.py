"""Which queues there are, what they are called, and how they are declared.

Each lane has a queue of its own: `email.dispatcher.send` for normal emails, with `.urgent` and `.bulk` beside it. So an
urgent email passes a bulk backlog in the broker as it does in the database. What senders cannot read goes through the
dead-letter exchange to `email.dispatcher.dead`, where the news of dead emails arrives too: the one place to look.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from pamqp import commands

from postroom.broker.amqp.client import Client
from postroom.vocabulary import LANES, Priority


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """A broker and what Postroom calls its queues."""

    url: str
    send: str = "email.dispatcher.send"
    retry: str | None = None
    """Where attempts after the first are published, if not with the others."""
    dead: str = "email.dispatcher.dead"
    delivery_limit: int = 20
    """How often a message may come back to its queue before it is put aside."""
    confirm_limit: timedelta = timedelta(seconds=10)
    """How long to wait for the broker's confirmation."""

    @property
    def exchange(self) -> str:
        """Where queues put aside what senders reject."""
        return f"{self.dead}.letters"

    def queue(self, lane: Priority, attempt: int) -> str:
        """Where the message of this attempt goes."""
        return self._of_lane(self.retry if self.retry and attempt > 1 else self.send, lane)

    def queues(self, lane: Priority) -> tuple[str, ...]:
        """Where the messages of a lane are to be found."""
        routes = (self.send, self.retry) if self.retry else (self.send,)
        return tuple(self._of_lane(route, lane) for route in routes)

    @staticmethod
    def _of_lane(route: str, lane: Priority) -> str:
        return route if lane is Priority.NORMAL else f"{route}.{lane.label}"


async def declare(client: Client, broker: Broker) -> None:
    """Have everything there; does nothing where it is already."""
    await client.call(commands.Exchange.Declare(exchange=broker.exchange, exchange_type="fanout", durable=True))
    await declare_queue(client, broker, broker.dead)
    await client.call(commands.Queue.Bind(queue=broker.dead, exchange=broker.exchange, routing_key=""))
    for queue in lane_queues(broker):
        await declare_queue(client, broker, queue)


async def declare_queue(client: Client, broker: Broker, queue: str) -> None:
    """Have a queue there. One that is there with other arguments is refused, and stays as it is."""
    await client.call(commands.Queue.Declare(queue=queue, durable=True, arguments=queue_arguments(broker, queue)))


async def depth(client: Client, queue: str) -> int:
    """How many messages wait in a queue; refused where there is none of that name."""
    answer = await client.call(commands.Queue.Declare(queue=queue, passive=True))
    assert isinstance(answer, commands.Queue.DeclareOk)
    return answer.message_count or 0


async def consumers(client: Client, queue: str) -> int:
    """To how many its messages are delivered; refused where there is no queue of that name."""
    answer = await client.call(commands.Queue.Declare(queue=queue, passive=True))
    assert isinstance(answer, commands.Queue.DeclareOk)
    return answer.consumer_count or 0


async def depths(client: Client, broker: Broker) -> dict[str, int]:
    """How many messages wait in each queue, that of the dead among them."""
    return {queue: await depth(client, queue) for queue in (*lane_queues(broker), broker.dead)}


def lane_queues(broker: Broker) -> tuple[str, ...]:
    """Every queue that senders take messages from."""
    return tuple(queue for lane in LANES for queue in broker.queues(lane))


def queue_arguments(broker: Broker, queue: str) -> dict[str, Any]:
    """What a queue is declared with."""
    if queue == broker.dead:
        return {"x-queue-type": "quorum"}
    return {
        "x-queue-type": "quorum",
        "x-delivery-limit": broker.delivery_limit,
        "x-dead-letter-exchange": broker.exchange,
    }

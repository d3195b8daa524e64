"""One connection to RabbitMQ itself, with another library's client on the other side of the queues."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import pytest
from pamqp import commands
from pamqp.common import FieldTable

from postroom.broker.amqp.address import address
from postroom.broker.amqp.client import Client, NotSignedIn, QueueGone, Refused, connect
from postroom.broker.amqp.wire import Posting
from postroom.broker.meter import Fate
from tests.broker.hatch import Hatch
from tests.broker.scripted_broker import opened
from tests.work.office import PATIENCE

CONFIRMED, RETURNED, REFUSED = Fate.CONFIRMED, Fate.RETURNED, Fate.REFUSED


@pytest.fixture
async def rabbit(broker_url: str) -> AsyncIterator[Client]:
    async with opened(broker_url) as client:
        yield client
        await client.close()


@pytest.fixture
async def queue(rabbit: Client, dispatcher: str) -> str:
    """A queue that puts aside what is rejected."""
    name, aside = f"{dispatcher}.send", f"{dispatcher}.dead"
    arguments: FieldTable = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": aside}
    await rabbit.call(commands.Queue.Declare(queue=aside, durable=True))
    await rabbit.call(commands.Queue.Declare(queue=name, durable=True, arguments=arguments))
    return name


async def depth(client: Client, queue: str) -> int:
    return int(dict(await client.call(commands.Queue.Declare(queue=queue, passive=True)))["message_count"])  # type: ignore[arg-type]


class Collector:
    """Takes messages in and lets a test wait for so many."""

    def __init__(self) -> None:
        self.messages: list[tuple[int, bytes]] = []
        self._news = asyncio.Event()

    def __call__(self, tag: int, body: bytes, redelivered: bool) -> None:
        self.messages.append((tag, body))
        self._news.set()

    async def has(self, count: int) -> list[tuple[int, bytes]]:
        async with asyncio.timeout(PATIENCE):
            while len(self.messages) < count:
                self._news.clear()
                await self._news.wait()
        return self.messages


BODIES = [b'{"emailId":"1"}', b"", bytes(range(256)) * 1_200]
"""The last one, of 300 kB, takes three frames."""


async def test_what_we_publish_others_read(rabbit: Client, broker_url: str, queue: str) -> None:
    postings = [Posting(queue, f"{number}:1", body) for number, body in enumerate(BODIES)]
    fates = await rabbit.publish(postings, patience=PATIENCE)
    messages = await Hatch(broker_url).take(queue)
    properties = [message.header.properties for message in messages]

    assert fates == [CONFIRMED] * 3
    assert [message.body for message in messages] == BODIES
    assert [each.message_id for each in properties] == ["0:1", "1:1", "2:1"]
    assert {(each.delivery_mode, each.content_type) for each in properties} == {(2, "application/json")}


async def test_what_others_publish_we_read_and_acknowledge(rabbit: Client, broker_url: str, queue: str) -> None:
    hatch, collector = Hatch(broker_url), Collector()
    await hatch.put(queue, *BODIES)
    name = await rabbit.consume(queue, collector)
    messages = await collector.has(3)
    rabbit.acknowledge(messages[-1][0], all_before=True)
    await rabbit.cancel(name)
    await hatch.put(queue, b"nobody is there")
    await rabbit.close()  # what was not acknowledged would be back in the queue

    assert [body for _, body in messages] == BODIES
    assert [message.body for message in await hatch.take(queue)] == [b"nobody is there"]


async def test_what_we_reject_is_put_aside(rabbit: Client, broker_url: str, queue: str, dispatcher: str) -> None:
    collector, aside = Collector(), Collector()
    await Hatch(broker_url).put(queue, b"good", b"bad")
    await rabbit.consume(queue, collector)
    (good, _), (bad, _) = await collector.has(2)
    rabbit.acknowledge(good)
    rabbit.reject(bad)
    await rabbit.consume(f"{dispatcher}.dead", aside)

    assert [body for _, body in await aside.has(1)] == [b"bad"]
    assert await depth(rabbit, queue) == 0


async def test_each_message_has_its_own_fate(rabbit: Client, queue: str, dispatcher: str) -> None:
    """One for a queue that there is not; and of three for a queue with one place, one."""
    full = f"{dispatcher}.retry"
    arguments: FieldTable = {"x-max-length": 1, "x-overflow": "reject-publish"}
    await rabbit.call(commands.Queue.Declare(queue=full, durable=True, arguments=arguments))
    first = await rabbit.publish([Posting(full, "first", b"")], patience=PATIENCE)
    places = [full, queue, f"{dispatcher}.absent", full, queue]
    fates = await rabbit.publish([Posting(place, str(n), b"") for n, place in enumerate(places)], patience=PATIENCE)

    assert first == [CONFIRMED]
    assert fates == [REFUSED, CONFIRMED, RETURNED, REFUSED, CONFIRMED]


async def test_a_queue_that_somebody_deletes_is_gone(rabbit: Client, broker_url: str, queue: str) -> None:
    lost: asyncio.Future[Exception] = asyncio.get_running_loop().create_future()
    rabbit.lost = lost.set_result
    await rabbit.consume(queue, Collector())
    await Hatch(broker_url).delete(queue)

    assert isinstance(await lost, QueueGone)


async def test_a_refused_question_costs_a_channel(rabbit: Client, dispatcher: str) -> None:
    with pytest.raises(Refused, match="NOT_FOUND") as refusal:
        await depth(rabbit, f"{dispatcher}.absent")
    await rabbit.open_channel()
    fates = await rabbit.publish([Posting(f"{dispatcher}.absent", "key", b"")], patience=PATIENCE)

    assert refusal.value.code == 404
    assert fates == [RETURNED]


async def test_a_wrong_password_and_an_unknown_virtual_host_are_told_apart(broker_url: str) -> None:
    parts = urlsplit(broker_url)
    with pytest.raises(NotSignedIn, match="ACCESS_REFUSED"):
        await connect(address(broker_url.replace(f":{parts.password}@", ":wrong@")))
    with pytest.raises(Refused, match="vhost nowhere not found") as refusal:
        await connect(address(f"{broker_url.rstrip('/')}/nowhere"))

    assert not isinstance(refusal.value, NotSignedIn)

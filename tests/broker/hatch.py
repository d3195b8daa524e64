"""A hand in the broker: what a test does to queues behind Postroom's back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import aiormq
from aiormq.abc import AbstractChannel, DeliveredMessage
from aiormq.exceptions import ChannelNotFoundEntity

from tests.work.office import PATIENCE


class Hatch:
    """Opens a connection of its own for each thing it does."""

    def __init__(self, url: str) -> None:
        self._url = url

    async def put(self, queue: str, *bodies: bytes) -> None:
        """Publish messages, confirmed."""
        async with self._channel() as channel:
            for body in bodies:
                await channel.basic_publish(body, routing_key=queue, mandatory=True)

    async def take(self, queue: str, *, most: int | None = None) -> list[DeliveredMessage]:
        """What waits in a queue, in order; gone from it afterwards."""
        messages: list[DeliveredMessage] = []
        async with self._channel() as channel:
            while most is None or len(messages) < most:
                message = await channel.basic_get(queue, no_ack=True)
                if message.delivery_tag is None:
                    break
                messages.append(message)
        return messages

    async def declare(self, queue: str, arguments: dict[str, Any]) -> None:
        """A durable queue of the test's own making."""
        async with self._channel() as channel:
            await channel.queue_declare(queue, durable=True, arguments=arguments)

    async def depth(self, queue: str) -> int:
        async with self._channel() as channel:
            answer = await channel.queue_declare(queue, passive=True)
            return answer.message_count or 0

    async def consumers(self, queue: str) -> int:
        """How many consume from a queue; nobody if there is none."""
        with suppress(ChannelNotFoundEntity):
            async with self._channel() as channel:
                answer = await channel.queue_declare(queue, passive=True)
                return answer.consumer_count or 0
        return 0

    async def exists(self, queue: str) -> bool:
        with suppress(ChannelNotFoundEntity):
            return await self.depth(queue) >= 0
        return False

    async def purge(self, *queues: str) -> None:
        """Empty those queues that there are."""
        for queue in queues:
            with suppress(ChannelNotFoundEntity):
                async with self._channel() as channel:
                    await channel.queue_purge(queue)

    async def delete(self, *queues: str) -> None:
        async with self._channel() as channel:
            for queue in queues:
                await channel.queue_delete(queue)

    @asynccontextmanager
    async def _channel(self) -> AsyncIterator[AbstractChannel]:
        connection = await aiormq.connect(self._url)
        try:
            yield await connection.channel()
        finally:
            await connection.close()


async def eventually(ask: Callable[[], Awaitable[int]], enough: Callable[[int], bool]) -> None:
    """Ask again until the answer is as it must become."""
    deadline = time.monotonic() + PATIENCE
    while not enough(answer := await ask()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"what was waited for did not happen: it is {answer}")
        await asyncio.sleep(0.02)

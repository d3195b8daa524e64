"""Looks whether a broker is as the settings have it, and changes nothing there."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from dataclasses import dataclass

import aio_pika
from aio_pika.exceptions import ChannelNotFoundEntity, ChannelPreconditionFailed

from postroom.dispatch.link import FAILURES, REACH, BrokerAway, in_words
from postroom.dispatch.topology import Broker, lane_queues, queue_arguments


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """Our queues as they were found."""

    right: tuple[str, ...]
    missing: tuple[str, ...]
    """Not declared yet; whoever starts first does it."""
    different: tuple[str, ...]
    """Declared by somebody with other arguments: nobody can use them as they are."""


async def inspect(broker: Broker) -> Inspection:
    """Connect, sign in and compare every queue with the settings; raises `BrokerAway` with the reason in words."""
    connection: aio_pika.abc.AbstractConnection | None = None
    try:
        async with asyncio.timeout(REACH):
            connection = await aio_pika.connect(broker.url)
            found = {queue: await _look(connection, broker, queue) for queue in (*lane_queues(broker), broker.dead)}
    except (*FAILURES, ssl.SSLError, ValueError) as error:
        raise BrokerAway(in_words(error)) from None
    finally:
        if connection is not None:
            with suppress(*FAILURES):
                await connection.close()
    return Inspection(
        right=tuple(queue for queue, state in found.items() if state is True),
        missing=tuple(queue for queue, state in found.items() if state is None),
        different=tuple(queue for queue, state in found.items() if state is False),
    )


async def _look(connection: aio_pika.abc.AbstractConnection, broker: Broker, queue: str) -> bool | None:
    """True when it is as we would declare it, False when it differs, None when it is not there.

    Declaring what is there with the same arguments does nothing, with others it is refused. Either way the queue
    stays as it is. A channel that was refused something is closed, so each queue is looked at over one of its own.
    """
    channel = await connection.channel()
    try:
        await channel.declare_queue(queue, passive=True)
        await channel.declare_queue(queue, durable=True, arguments=queue_arguments(broker, queue))
    except ChannelNotFoundEntity:
        return None
    except ChannelPreconditionFailed:
        return False
    await channel.close()
    return True

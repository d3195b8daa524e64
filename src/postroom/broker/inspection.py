"""Looks whether a broker is as the settings have it, and changes nothing there."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from postroom.broker.amqp.address import address
from postroom.broker.amqp.client import NOT_FOUND, PRECONDITION_FAILED, Client, Refused, connect
from postroom.broker.link import FAILURES, REACH, BrokerAway, in_words
from postroom.broker.topology import Broker, declare_queue, depth, lane_queues


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
    client: Client | None = None
    try:
        async with asyncio.timeout(REACH):
            client = await connect(address(broker.url))
            found = {queue: await _look(client, broker, queue) for queue in (*lane_queues(broker), broker.dead)}
            await client.close()
    except (*FAILURES, ValueError) as error:
        raise BrokerAway(in_words(error)) from None
    finally:
        if client is not None:
            client.hang_up()
    return Inspection(
        right=tuple(queue for queue, state in found.items() if state is True),
        missing=tuple(queue for queue, state in found.items() if state is None),
        different=tuple(queue for queue, state in found.items() if state is False),
    )


async def _look(client: Client, broker: Broker, queue: str) -> bool | None:
    """True when it is as we would declare it, False when it differs, None when it is not there.

    A channel that was refused something is closed, so each queue is looked at over one of its own.
    """
    await client.open_channel()
    try:
        await depth(client, queue)
        await declare_queue(client, broker, queue)
    except Refused as error:
        if error.code == NOT_FOUND:
            return None
        if error.code == PRECONDITION_FAILED:
            return False
        raise
    await client.close_channel()
    return True

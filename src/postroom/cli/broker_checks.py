"""What `postroom doctor` asks of the broker, and of those who should be talking to it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

from postroom.cli.checks import Finding, Level
from postroom.config import Settings
from postroom.errors import ConfigurationError
from postroom.operate import House
from postroom.operate.broker import at_work
from postroom.vocabulary import Status

if TYPE_CHECKING:
    from postroom.broker.inspection import Inspection


def check_broker(settings: Settings) -> Iterator[Finding]:
    """Whether the broker is there, lets us in, and has its queues as the settings have them. Declares nothing."""
    if settings.broker is None:
        return
    try:
        # Imported here, for they need pamqp.
        from postroom.broker.amqp.address import broker_name
        from postroom.broker.inspection import inspect
        from postroom.broker.link import BrokerAway
        from postroom.broker.services import broker_of
    except ModuleNotFoundError as error:
        yield Finding(
            name="broker",
            level=Level.FAIL,
            detail=f"RabbitMQ needs {error.name}, which is not installed",
            remedy="pip install 'postroom[rabbitmq]'",
        )
        return
    try:
        broker = broker_of(settings)
    except ConfigurationError as error:
        yield Finding(name="broker", level=Level.FAIL, detail=str(error), remedy="correct POSTROOM_BROKER")
        return
    name = broker_name(broker.url).removesuffix("/")
    try:
        found = asyncio.run(inspect(broker))
    except BrokerAway as error:
        remedy = "check that RabbitMQ runs and that POSTROOM_BROKER is right; schedulers and senders go on trying"
        yield Finding(name="broker", level=Level.FAIL, detail=f"{name}: {error}", remedy=remedy)
        return
    yield Finding(name="broker", level=Level.OK, detail=f"{name} answers and lets us in")
    yield _check_queues(found)


def _check_queues(found: Inspection) -> Finding:
    if found.different:
        return Finding(
            name="queues",
            level=Level.FAIL,
            detail=f"declared with other arguments than the settings have: {', '.join(found.different)}",
            remedy="let them run empty and delete them, or put POSTROOM_DELIVERY_LIMIT or the names right",
        )
    if found.missing:
        return Finding(
            name="queues",
            level=Level.WARN,
            detail=f"not declared yet: {', '.join(found.missing)}",
            remedy="nothing to do: `postroom scheduler` and `postroom sender` declare them when they start",
        )
    return Finding(name="queues", level=Level.OK, detail=f"{len(found.right)} are as the settings have them")


def check_services(settings: Settings, house: House) -> Iterator[Finding]:
    """Whether somebody publishes what is due and somebody sends what is queued, where a broker is set."""
    broker = house.broker
    if settings.broker is None and broker is None:
        return
    schedulers, senders = (broker.schedulers, broker.senders) if broker is not None else (0, 0)
    missing = [
        command for command, count in (("postroom scheduler", schedulers), ("postroom sender", senders)) if not count
    ]
    if broker is not None and not missing:
        yield Finding(name="dispatch", level=Level.OK, detail=at_work(broker))
        return
    waits = house.oldest_due is not None or house.counts.get(Status.QUEUED, 0) > 0
    stuck = waits and not any(worker.alive for worker in house.own_workers)
    yield Finding(
        name="dispatch",
        level=Level.FAIL if stuck else Level.WARN,
        detail=f"{at_work(broker) if broker is not None else 'no scheduler and no sender is at work'}, and "
        + ("emails wait for them" if stuck else "plain workers do their work" if waits else "nothing is due"),
        remedy=f"start {' and '.join(f'`{command}`' for command in missing)}",
    )

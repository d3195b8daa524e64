"""Rounds of a storm over a broker: schedulers, senders and applications die and are replaced.

The broker between them is not spared. What applications send inline does not come by it, until it is taken over.
"""

from __future__ import annotations

import asyncio
import random
import secrets
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from postroom.broker.topology import Broker
from postroom.testing import FaultProxy, ScriptedSmtp
from tests.broker.bureau import Bureau
from tests.broker.hatch import Hatch
from tests.broker.network import through
from tests.servers.rabbitmq_node import RabbitNode
from tests.work.nursery import Nursery, WorkerProcess
from tests.work.rounds import DEATHS, LEASE, PLACES, Round, Weather

SCHEDULER_PLACES = ("reserved", "published", "marked")
SCHEDULER_DEATHS = ("place", "random", "stop")
SENDER_PLACES = (*PLACES, "received", "before_ack", "acked")
TROUBLES = ("purge", "purge", "copies", "copies", "copies", "cut", "cut", "cut", "kill", "wipe")
"""What befalls the broker now and then. A new start takes it some seconds, so that is rarer."""


class BrokeredRound(Round):
    """One outbox, one broker, and a network between the broker and everybody else."""

    def __init__(
        self, bureau: Bureau, weather: Weather, folder: Path, dice: random.Random, node: RabbitNode, network: FaultProxy
    ) -> None:
        super().__init__(bureau, weather, folder, dice)
        self._bureau = bureau
        self._node = node
        self._network = network
        self._schedulers: set[WorkerProcess] = set()
        self._next_trouble = 0.0

    def _staff(self) -> None:
        self._trouble()
        schedulers = self._schedulers & self._doomed.keys()
        for _ in range(self._weather.schedulers - len(schedulers)):
            manner, patience, environment = self._fate(SCHEDULER_DEATHS, SCHEDULER_PLACES)
            scheduler = self._bureau.start_scheduler(**environment)
            self._schedulers.add(scheduler)
            self._doomed[scheduler] = manner, time.monotonic() + 2 * patience
        senders = self._doomed.keys() - self._schedulers - self._applications
        for _ in range(self._weather.workers - len(senders)):
            manner, patience, environment = self._fate(DEATHS, SENDER_PLACES)
            options = f"connections={self._dice.choice([1, 2, 8])}"
            sender = self._bureau.start_sender(
                lease=f"{LEASE:g}s", options=options, journals=self._journals(), **self._means(), **environment
            )
            self._doomed[sender] = manner, time.monotonic() + 2 * patience

    def _means(self) -> dict[str, str]:
        """Some senders turn to the database when they miss the broker."""
        return {"POSTROOM_BROKER_OUTAGE": self._dice.choice(["wait", "direct"]), "POSTROOM_PREFETCH": "10"}

    def _candidates(self) -> list[WorkerProcess]:
        return [process for process in self._doomed if process not in self._schedulers]

    def _trouble(self) -> None:
        """Something happens to the broker every second or so."""
        if time.monotonic() < self._next_trouble:
            return
        trouble = self._dice.choice(TROUBLES) if self._next_trouble else "nothing yet"
        match trouble:
            case "purge":
                asyncio.run(self._bureau.hatch.purge(*self._bureau.queues))
            case "copies":
                asyncio.run(self._copy())
            case "cut":
                self._network.cut()
            case "kill":
                self._node.kill()
                self._node.start()
                self.kills["broker"] += 1
            case "wipe":
                self._node.wipe()
                self.kills["broker"] += 1
        self._next_trouble = time.monotonic() + self._dice.uniform(0.3, 1.5)

    async def _copy(self) -> None:
        """Take some messages away, and bring them back twice and in another order."""
        for queue in self._bureau.queues:
            if await self._bureau.hatch.exists(queue):
                bodies = [message.body for message in await self._bureau.hatch.take(queue, most=50)] * 2
                self._dice.shuffle(bodies)
                await self._bureau.hatch.put(queue, *bodies)

    def _finish(self) -> None:
        self._bureau.dispatch(schedulers=2, senders=2, patience=180, journals=self._journals())


@contextmanager
def brokered_round(
    url: str,
    server: ScriptedSmtp,
    backup: ScriptedSmtp,
    folder: Path,
    nursery: Nursery,
    node: RabbitNode,
    weather: Weather,
    dice: random.Random,
) -> Iterator[BrokeredRound]:
    """A round with queues of its own."""
    name = f"storm-{secrets.token_hex(4)}"
    with ExitStack() as stack:
        network = stack.enter_context(FaultProxy(target_port=node.port))
        broker = through(network, Broker(url=node.url, send=f"{name}.send", dead=f"{name}.dead"))
        bureau = stack.enter_context(Bureau(url, server, folder, nursery, broker, backup=backup))
        bureau.hatch = Hatch(node.url)
        yield BrokeredRound(bureau, weather, folder, dice, node, network)
        asyncio.run(bureau.hatch.delete(*bureau.queues, broker.dead))

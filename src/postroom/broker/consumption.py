"""The messages a sender has been given over one session, from delivery to acknowledgement."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from pamqp import commands

from postroom.broker.acks import Acks
from postroom.broker.amqp.client import QueueGone
from postroom.broker.link import FAILURES, REACH, BrokerAway, Session
from postroom.broker.message import Poison, decode
from postroom.broker.meter import DispatchMeter
from postroom.broker.topology import consumers, lane_queues
from postroom.claim.failpoint import reach
from postroom.claim.lanes import Shares
from postroom.logs import logger
from postroom.store.dispatch import Named
from postroom.vocabulary import LANES, Priority

INSIST = 5.0
"""Seconds between looks whether the broker still delivers, while it brings nothing."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message in hand."""

    tag: int
    lane: Priority
    named: Named
    came_back: bool = False
    """It may have been delivered before, to somebody who did not come to the end of it."""


class Consumption:
    """Takes messages in, in three lanes, and tells the broker which ones are done with.

    A message that makes no sense is put aside at once: it goes to the dead-letter queue, never back to its own.
    """

    def __init__(self, session: Session, *, prefetch: int, meter: DispatchMeter, deployment: str = "") -> None:
        self.session = session
        self._deployment = deployment
        self.arrived = asyncio.Event()
        """Set when a message has come in; whoever takes some clears it."""
        self._prefetch = prefetch
        self._meter = meter
        self._waiting: dict[Priority, deque[Delivery]] = {lane: deque() for lane in LANES}
        self._came_back: deque[Delivery] = deque()
        self._acks = Acks()
        self._tags: list[str] = []
        self._flushing: asyncio.Task[None] | None = None
        self._insisted = time.monotonic()

    @property
    def waiting(self) -> Shares:
        """How many messages of each lane are in hand, but for those that came back."""
        return {lane: len(messages) for lane, messages in self._waiting.items()}

    @property
    def came_back(self) -> int:
        """How many messages are in hand that somebody else may have had before."""
        return len(self._came_back)

    async def start(self) -> None:
        """Have messages delivered. The limit is for each queue, so that no lane uses up another's."""
        if self._tags:
            return
        client = self.session.client
        try:
            await client.call(commands.Basic.Qos(prefetch_count=self._prefetch))
            for lane in LANES:
                for queue in self.session.broker.queues(lane):
                    self._tags.append(await client.consume(queue, partial(self._arrive, lane, queue)))
        except FAILURES as error:
            self.session.lost(error)
            raise BrokerAway(self.session.reason) from None

    async def insist(self) -> None:
        """See now and then that somebody is still served from every queue, for all that the broker says.

        A broker tells a consumer when its queue is deleted; but now and then, busy, it does not. Declared anew by
        somebody else, the queue would fill while we wait for it in vain.
        """
        if time.monotonic() < self._insisted + INSIST:
            return
        self._insisted = time.monotonic()
        try:
            async with asyncio.timeout(REACH):
                for queue in lane_queues(self.session.broker):
                    if not await consumers(self.session.client, queue):
                        raise QueueGone
        except FAILURES as error:
            self.session.lost(error)
            raise BrokerAway(self.session.reason) from None

    async def stop(self) -> None:
        """Have no more messages delivered; those in hand stay."""
        tags, self._tags = self._tags, []
        for tag in tags:
            with suppress(*FAILURES):  # a broker that is gone delivers nothing either
                await self.session.client.cancel(tag)

    def _arrive(self, lane: Priority, queue: str, tag: int, body: bytes, redelivered: bool) -> None:
        self._acks.deliver(tag)
        try:
            named = decode(body, deployment=self._deployment)
        except Poison as problem:
            logger.error("message put aside", queue=queue, reason=str(problem))
            self._meter.poison()
            self._acks.answered(tag)
            self.session.client.reject(tag)
            return
        place = self._came_back if redelivered else self._waiting[lane]
        place.append(Delivery(tag, lane, named, came_back=redelivered))
        self.arrived.set()

    def take(self, wanted: Shares) -> list[Delivery]:
        """Take so many of each lane."""
        taken = []
        for lane, count in wanted.items():
            messages = self._waiting[lane]
            taken += [messages.popleft() for _ in range(min(count, len(messages)))]
        self._note_emptiness()
        return taken

    def take_one_that_came_back(self) -> Delivery:
        """Take the first of them."""
        delivery = self._came_back.popleft()
        self._note_emptiness()
        return delivery

    def take_all(self) -> list[Delivery]:
        """Take everything that is in hand."""
        taken = [*self._came_back, *self.take(self.waiting)]
        self._came_back.clear()
        self._note_emptiness()
        return taken

    def _note_emptiness(self) -> None:
        if not self._came_back and not any(self._waiting.values()):
            self.arrived.clear()

    def put_back(self, deliveries: Sequence[Delivery]) -> None:
        """These could not be claimed just now."""
        for delivery in reversed(deliveries):
            (self._came_back if delivery.came_back else self._waiting[delivery.lane]).appendleft(delivery)
        self.arrived.set()

    def done(self, tag: int) -> None:
        """The message is of no more use; the broker is told soon."""
        self._acks.done(tag)
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.ensure_future(self._flush())

    async def _flush(self) -> None:
        await asyncio.sleep(0)  # the rest of a settled group
        while (answer := self._acks.answer()) is not None and not self.session.closed.is_set():
            reach("before_ack")
            client = self.session.client
            if answer.up_to is not None:
                client.acknowledge(answer.up_to, all_before=True)
            for tag in answer.single:
                client.acknowledge(tag)
            reach("acked")

    async def flushed(self) -> None:
        """The broker was told of everything that is done with."""
        while self._flushing is not None and not self._flushing.done():
            await self._flushing

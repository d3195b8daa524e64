"""The scheduler: names due emails in messages to the broker, a bounded number ahead of what senders have taken.

Each round reserves due emails under a lease, publishes a message for each, waits for the broker's confirmation, and
notes it. What was not confirmed is due again at once; what is not heard of before the lease ends, a little later. Any
number of schedulers may run: the lease gives every email to one of them.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.metadata import version

from postroom.claim.failpoint import reach
from postroom.claim.feed import first_of
from postroom.claim.journal import worker_name
from postroom.claim.wakeup import wake_up_for
from postroom.dispatch.announcer import announce
from postroom.dispatch.feed import broker_state
from postroom.dispatch.link import BrokerAway, Letter, Link, Session
from postroom.dispatch.message import encode, message_key
from postroom.dispatch.meter import UNMETERED_DISPATCH, DispatchMeter, Fate
from postroom.dispatch.topology import Broker
from postroom.errors import StoreUnavailable
from postroom.logs import logger
from postroom.store import claims, dispatch, heartbeats, questions
from postroom.store.dispatch import Named, Reserved
from postroom.store.open import AsyncDatabase
from postroom.vocabulary import Priority

VERSION = version("postroom")

BATCH = 200
"""Emails of a lane that are reserved at a time."""
FULL = 0.02
"""Seconds to wait while the queues hold as much as they should."""
AT_ONCE = 0.005
"""Seconds to wait for what is due already, and was not to be had: another scheduler has it."""
ANNOUNCE = 1.0
BEAT = 5.0
FIRST_PAUSE, LAST_PAUSE = 0.05, 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerSettings:
    """How a scheduler works."""

    interval: timedelta = timedelta(seconds=60)
    """How long to rest at most between rounds, for want of a wake-up."""
    lease: timedelta = timedelta(minutes=2)
    """After so long without a sign of its message an email is due again."""
    ahead: int = 1_000
    """How many messages may wait in a lane's queues."""
    until_idle: bool = False
    """Stop when nothing is due."""


class Scheduler:
    """One scheduler process's work."""

    def __init__(
        self,
        database: AsyncDatabase,
        broker: Broker,
        settings: SchedulerSettings | None = None,
        *,
        meter: DispatchMeter = UNMETERED_DISPATCH,
    ) -> None:
        self.name = worker_name()
        self.settings = settings or SchedulerSettings()
        self.stopping = asyncio.Event()
        self.published = 0
        self.link = Link(broker, self.stopping, meter)
        self._database = database
        self._meter = meter
        self._wake_up = wake_up_for(database)
        self._depths: dict[str, int] = {}
        self._beaten = time.monotonic(), 0

    async def run(self) -> None:
        """Publish what is due until `stop` is called, or until nothing is due if so told."""
        lost = min(BEAT, self.settings.lease.total_seconds() / 4)
        duties = [
            asyncio.create_task(self._wake_up.run(), name="wake-up"),
            asyncio.create_task(self._every(BEAT, self._heartbeat), name="heartbeat"),
            asyncio.create_task(self._every(lost, self._requeue_lost), name="requeue"),
            asyncio.create_task(self._every(ANNOUNCE, self._announce), name="announce"),
        ]
        for duty in duties:
            duty.add_done_callback(self._ended)
        try:
            while not self.stopping.is_set():
                session = await self.link.connect()
                if session is not None:
                    with suppress(BrokerAway):  # the link says so, and tries again
                        await self._rounds(session)
        finally:
            for duty in duties:
                duty.cancel()
            await asyncio.gather(*duties, return_exceptions=True)
            await self._farewell()
        for duty in duties:
            if not duty.cancelled() and (failure := duty.exception()) is not None:
                raise failure

    def stop(self) -> None:
        self.stopping.set()
        self._wake_up.woken.set()

    def _ended(self, duty: asyncio.Task[None]) -> None:
        """A duty that fails on a bug of ours stops the scheduler: a supervisor starts a whole one."""
        if not duty.cancelled() and (failure := duty.exception()) is not None:
            logger.error("scheduler task failed", task=duty.get_name(), exc_info=failure)
            self.stop()

    # ---------------------------------------------------------------- rounds

    async def _rounds(self, session: Session) -> None:
        pause = FIRST_PAUSE
        while not self.stopping.is_set() and not session.closed.is_set():
            try:
                self._wake_up.woken.clear()
                well = await self._round(session)
            except StoreUnavailable as error:
                logger.warning("scheduling waits for the database", error=str(error))
                await self._database.refresh()
                well = False
            if well:
                pause = FIRST_PAUSE
                continue
            await first_of(self.stopping.wait(), session.closed.wait(), seconds=pause)
            pause = min(pause * 2, LAST_PAUSE)

    async def _round(self, session: Session) -> bool:
        """Publish a batch, or rest if there is none. False when it did not go well: better not at once again."""
        room = await self._room(session)
        if not any(room.values()):
            await first_of(self.stopping.wait(), session.closed.wait(), seconds=FULL)
            return True
        plan = dispatch.reserve(worker=self.name, lease=self.settings.lease, seats=room)
        reserved = await self._database.run(plan, atomic=False)
        if not reserved:
            await self._rest(session)
            return True
        reach("reserved")
        return await self._publish(session, await self._within_budget(reserved))

    async def _room(self, session: Session) -> dict[Priority, int]:
        self._depths = await session.depths()
        broker, ahead = session.broker, self.settings.ahead
        return {
            lane: min(BATCH, max(0, ahead - sum(self._depths[queue] for queue in broker.queues(lane))))
            for lane in Priority
        }

    async def _within_budget(self, reserved: Sequence[Reserved]) -> list[Reserved]:
        """Those that have an attempt left; the others are given up."""
        spent = [each for each in reserved if each.attempts >= each.max_attempts]
        if not spent:
            return list(reserved)
        dead = await self._database.run(dispatch.give_up([each.claim for each in spent]))
        self._meter.gave_up(len(dead))
        for each in spent:
            logger.warning("email skipped", email_id=each.claim.id, attempt=each.attempts, why="no attempt left")
        return [each for each in reserved if each.attempts < each.max_attempts]

    async def _publish(self, session: Session, reserved: Sequence[Reserved]) -> bool:
        fates = await session.publish([_letter(each, session.broker) for each in reserved])
        reach("published")
        self._meter.published(fates)
        confirmed = [each for each, fate in zip(reserved, fates, strict=True) if fate is Fate.CONFIRMED]
        failed = [each for each, fate in zip(reserved, fates, strict=True) if fate is not Fate.CONFIRMED]
        self.published += len(confirmed)
        await self._database.run(dispatch.confirm_queued([each.claim for each in confirmed]), atomic=False)
        if failed:
            await self._database.run(claims.release([each.claim for each in failed]), atomic=False)
        reach("marked")
        for each, fate in zip(reserved, fates, strict=True):
            _tell(each, fate, session.broker)
        return not failed

    async def _rest(self, session: Session) -> None:
        """Wait until there may be something to publish."""
        due = await self._database.run(questions.next_due(), writes=False, atomic=False)
        wait = self.settings.interval.total_seconds()
        if due is not None:
            wait = min(wait, max((due - datetime.now(UTC)).total_seconds(), AT_ONCE))
        elif self.settings.until_idle:
            self.stop()
        await first_of(self._wake_up.woken.wait(), self.stopping.wait(), session.closed.wait(), seconds=wait)

    # ---------------------------------------------------------------- duties

    async def _every(self, seconds: float, duty: Callable[[], Awaitable[None]]) -> None:
        """Do a duty now and then. While the database is away, only try again later."""
        while True:
            try:
                await duty()
            except StoreUnavailable as error:
                logger.warning("the database is away", error=str(error))
            await asyncio.sleep(seconds)

    async def _requeue_lost(self) -> None:
        while lost := await self._database.run(dispatch.requeue(limit=BATCH)):
            self._meter.requeued(len(lost))
            for each in lost:
                logger.warning("email due again", email_id=each.id, attempt=each.attempt, why="its message was lost")

    async def _announce(self) -> None:
        if self.link.session is not None and self.link.connected:
            await announce(self._database, self.link.session, self._meter)

    async def _heartbeat(self) -> None:
        now, (since, before) = time.monotonic(), self._beaten
        self._beaten = now, self.published
        if self.link.session is not None and self.link.connected:
            with suppress(BrokerAway):
                self._depths = await self.link.session.depths()
        await self._database.run(
            heartbeats.beat(
                self.name,
                role="scheduler",
                host=socket.gethostname(),
                version=VERSION,
                in_flight=0,
                rate=(self.published - before) / max(now - since, 0.001),
                broker=broker_state(self.link, self._depths),
            ),
            atomic=False,
        )

    async def _farewell(self) -> None:
        with suppress(StoreUnavailable):
            await self._database.run(heartbeats.retire(self.name))
        await self.link.close()


def _letter(each: Reserved, broker: Broker) -> Letter:
    named = Named(each.claim.id, each.attempt)
    return Letter(
        queue=broker.queue(each.priority, each.attempt),
        key=message_key(named.id, named.attempt),
        body=encode(named),
    )


def _tell(each: Reserved, fate: Fate, broker: Broker) -> None:
    """One line for each scheduling action; `next_attempt` is when the email is due again if its message is lost."""
    if fate is Fate.CONFIRMED:
        logger.info(
            "email published",
            email_id=each.claim.id,
            attempt=each.attempt,
            queue=broker.queue(each.priority, each.attempt),
            next_attempt=each.leased_until.isoformat(),
        )
    else:
        logger.warning("email not published", email_id=each.claim.id, attempt=each.attempt, why=fate.value)

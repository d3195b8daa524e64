"""The scheduler: names due emails in messages to the broker, a bounded number ahead of what senders have taken.

Each round reserves due emails under a lease, publishes a message for each, waits for the broker's confirmation, and
notes it. What was not confirmed is due again at once; what is not heard of before the lease ends, a little later. A
lane whose messages the broker does not take is left alone for a moment, longer each time (`refusals.py`). Any number of
schedulers may run: the lease gives every email to one of them.
"""

from __future__ import annotations

import asyncio
import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from importlib.metadata import version

from postroom.broker.announcer import announce
from postroom.broker.feed import broker_state
from postroom.broker.link import BrokerAway, Link, Session
from postroom.broker.meter import UNMETERED_DISPATCH, DispatchMeter
from postroom.broker.open_routes import LOOK
from postroom.broker.publisher import Publisher
from postroom.broker.topology import Broker
from postroom.claim.clock import DatabaseClock
from postroom.claim.feed import first_of
from postroom.claim.wakeup import wake_up_for
from postroom.errors import StoreUnavailable
from postroom.logs import logger
from postroom.store import dispatch, heartbeats, overview, questions
from postroom.store.open import AsyncDatabase
from postroom.work.crew import Crew
from postroom.work.journal import worker_name
from postroom.work.ownership import LOOK as OWNERSHIP_LOOK
from postroom.work.ownership import Ownership
from postroom.work.pulse import Pulse

VERSION = version("postroom")

BATCHES = 3
"""How many batches may be on their way to the broker."""
FULL = 0.02
"""Seconds to wait while the queues hold as much as they should."""
AT_ONCE = 0.005
"""Seconds to wait for what is due already, and was not to be had: another scheduler has it."""
BLOCKED = 1.0
"""Seconds between looks at a broker that takes no messages, for want of its word that it does."""
REQUEUED = 200
"""Lost messages' emails that are made due again at a time."""
ANNOUNCE = 1.0
BEAT = 5.0
FIRST_PAUSE, LAST_PAUSE = 0.05, 2.0
"""Seconds to wait for a database that is away, and at most."""


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
    deployment: str = ""
    """The one whose database this has to be for anything to be published."""


class Scheduler:
    """One scheduler process's work."""

    def __init__(
        self,
        database: AsyncDatabase,
        broker: Broker,
        settings: SchedulerSettings | None = None,
        *,
        meter: DispatchMeter = UNMETERED_DISPATCH,
        pulse: Pulse | None = None,
    ) -> None:
        self.name = worker_name()
        self.pulse = pulse or Pulse()
        self.pulse.obstacle = self._obstacle
        self.settings = settings or SchedulerSettings()
        self.stopping = asyncio.Event()
        self.link = Link(broker, self.stopping, meter)
        self._database = database
        self._meter = meter
        self._crew = Crew(database, stop=self.stop)
        self._wake_up = wake_up_for(database)
        self._woken = self._wake_up.bell()
        self._clock = DatabaseClock()
        self._ownership = Ownership(database, self.settings.deployment)
        self._publisher = Publisher(
            database,
            meter,
            worker=self.name,
            lease=self.settings.lease,
            ahead=self.settings.ahead,
            clock=self._clock,
        )
        self._pause = FIRST_PAUSE
        self._beaten = time.monotonic(), 0

    async def run(self) -> None:
        """Publish what is due until `stop` is called, or until nothing is due if so told.

        Raises `WrongDeployment` where the database is not ours, or is so no longer.
        """
        crew = self._crew
        await self._ownership.insist(self)
        self._publisher.deployment = self._ownership.stamp.id if self._ownership.stamp else ""
        crew.add_duty("pulse", self.pulse.run())
        crew.every(OWNERSHIP_LOOK, self._look_whose, name="ownership")
        crew.add_duty("wake-up", self._wake_up.run())
        crew.every(BEAT, self._heartbeat, name="heartbeat")
        crew.every(min(BEAT, self.settings.lease.total_seconds() / 4), self._requeue_lost, name="requeue")
        crew.every(ANNOUNCE, self._announce, name="announce")
        try:
            while not self.stopping.is_set():
                session = await self.link.connect()
                if session is not None:
                    with suppress(BrokerAway):  # the link says so, and tries again
                        await self._rounds(session)
        finally:
            await crew.call_off()
            await self._farewell()
        crew.raise_failure()

    def stop(self) -> None:
        self.stopping.set()
        self._woken.set()

    # ---------------------------------------------------------------- rounds

    async def _rounds(self, session: Session) -> None:
        """Publish batches, a few at a time: while one waits for the broker or the disk, the next is reserved."""
        under_way: set[asyncio.Task[None]] = set()
        try:
            while not self.stopping.is_set() and not session.closed.is_set():
                if self._woken.is_set():  # perhaps by senders that gave back what a route may not send any more
                    self._woken.clear()
                    self._publisher.routes.look_anew()
                try:
                    await self._round(session, under_way)
                except StoreUnavailable as error:
                    await self._wait_for_database(session, error)
        finally:
            await asyncio.gather(*under_way, return_exceptions=True)

    async def _round(self, session: Session, under_way: set[asyncio.Task[None]]) -> None:
        """Start on the next batch, or rest if there is none."""
        if not await self._may_publish(session):
            return
        if not await self._ownership.is_ours():
            await self._look_whose()
        reserved = await self._publisher.reserve(session)
        if reserved:
            under_way.add(asyncio.create_task(self._publisher.publish(session, reserved)))
        if len(under_way) >= BATCHES or (under_way and not reserved):
            done, _ = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
            under_way -= done
            await asyncio.gather(*done)
            self._pause = FIRST_PAUSE
        elif not reserved:
            await self._rest(session)
            self._pause = FIRST_PAUSE

    async def _wait_for_database(self, session: Session, error: StoreUnavailable) -> None:
        """A little longer each time, until a whole round has gone well."""
        logger.warning("scheduling waits for the database", error=str(error))
        await self._database.refresh()
        await first_of(self.stopping.wait(), session.closed.wait(), seconds=self._pause)
        self._pause = min(self._pause * 2, LAST_PAUSE)

    async def _may_publish(self, session: Session) -> bool:
        """Whether the broker takes messages. While it does not, emails are better off in the database."""
        room = session.client.room
        if not room.is_set():
            await first_of(room.wait(), self.stopping.wait(), session.closed.wait(), seconds=BLOCKED)
        return room.is_set() and not session.closed.is_set()

    async def _rest(self, session: Session) -> None:
        """Wait until there may be something to publish."""
        routes = await self._publisher.routes.names()
        due = await self._database.run(questions.next_due(routes), writes=False, atomic=False)
        wait = self.settings.interval.total_seconds()
        if routes is not None:
            wait = min(wait, LOOK)  # nobody tells us that a route is open again
        if due is not None:
            ahead = (due - self._clock.now()).total_seconds()
            wait = min(wait, max(ahead, self._least_rest()))
        if self.settings.until_idle and (due is None or due > self._clock.now()):
            self.stop()
        await first_of(self._woken.wait(), self.stopping.wait(), session.closed.wait(), seconds=wait)

    def _least_rest(self) -> float:
        """How long to leave alone what is due and was not to be had: refused, too much, or another scheduler's."""
        return self._publisher.refusals.seconds_left() or (FULL if self._publisher.full else AT_ONCE)

    # ---------------------------------------------------------------- duties

    async def _look_whose(self) -> None:
        await self._ownership.look()
        if self._ownership.refusal is not None:
            raise self._ownership.refusal

    async def _requeue_lost(self) -> None:
        while lost := await self._database.run(dispatch.requeue(limit=REQUEUED)):
            self._meter.requeued(len(lost))
            for each in lost:
                logger.warning("email due again", email_id=each.id, attempt=each.attempt, why="its message was lost")

    def _open_session(self) -> Session | None:
        """The broker, if it listens: one that takes no messages does not read questions from us either."""
        session = self.link.session
        return session if session is not None and self.link.connected and not session.client.blocked else None

    async def _announce(self) -> None:
        if (session := self._open_session()) is not None:
            await announce(self._database, session, self._meter)

    async def _heartbeat(self) -> None:
        self._clock.anchor(await self._database.run(overview.clock(), writes=False))
        now, (since, before) = time.monotonic(), self._beaten
        self._beaten = now, self._publisher.published
        if (session := self._open_session()) is not None:
            with suppress(BrokerAway):
                await self._publisher.look(session)
        await self._database.run(
            heartbeats.beat(
                self.name,
                role="scheduler",
                host=socket.gethostname(),
                version=VERSION,
                in_flight=0,
                rate=(self._publisher.published - before) / max(now - since, 0.001),
                broker=broker_state(self.link, self._publisher.depths, refused=self._publisher.refusals.why),
            ),
            atomic=False,
        )
        self.pulse.database_answered()

    def _obstacle(self) -> str:
        if self.stopping.is_set():
            return "it is stopping"
        return "" if self.link.connected else "the broker is away"

    async def _farewell(self) -> None:
        with suppress(StoreUnavailable):
            await self._database.run(heartbeats.retire(self.name))
        await self.link.close()

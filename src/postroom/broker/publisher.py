"""Publishes due emails, batch by batch: reserve, publish, wait for the broker's word, note it.

What the broker did not confirm is due again at once, and its lane is left alone for a moment. The queues are kept
short: no more messages wait in a lane's than `ahead`, so that what is in the broker is taken long before its lease
ends, and the order of the database rules.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

from postroom.broker.amqp.wire import Posting
from postroom.broker.link import Session
from postroom.broker.message import encode, message_key
from postroom.broker.meter import DispatchMeter, Fate
from postroom.broker.open_routes import OpenRoutes
from postroom.broker.refusals import Refusals
from postroom.broker.topology import Broker
from postroom.claim.clock import DatabaseClock
from postroom.claim.failpoint import reach
from postroom.logs import logger
from postroom.store import claims, dispatch
from postroom.store.dispatch import Named, Reserved
from postroom.store.open import AsyncDatabase
from postroom.vocabulary import LANES, Priority

BATCH = 200
"""Emails of a lane that are reserved at a time."""
LOOK = 0.25
"""Seconds after which the queues are looked at anew, while messages are being published."""


class Publisher:
    """One scheduler's way from the database to the broker."""

    def __init__(
        self,
        database: AsyncDatabase,
        meter: DispatchMeter,
        *,
        worker: str,
        lease: timedelta,
        ahead: int,
        clock: DatabaseClock,
    ) -> None:
        self.published = 0
        self.depths: dict[str, int] = {}
        """How many messages wait in each queue: at the last look, and those published since."""
        self.full = False
        """Some lane's queues hold as much as they should."""
        self.refusals = Refusals()
        self._database = database
        self._meter = meter
        self._worker = worker
        self._lease = lease
        self._ahead = ahead
        self._clock = clock
        self.deployment = ""
        """The id of the one whose emails are published."""
        self.routes = OpenRoutes(database)
        self._looked = 0.0
        self._under_way: Counter[str] = Counter()
        """How many messages for each queue are being published: a look at the queues may or may not count them."""
        self._over: Counter[str] = Counter()
        """How many have been, so far."""

    async def reserve(self, session: Session) -> list[Reserved]:
        """The next due emails for which the queues have room. Those without an attempt left are given up here."""
        room = await self._room(session)
        if not any(room.values()):
            return []
        plan = dispatch.reserve(worker=self._worker, lease=self._lease, seats=room, routes=await self.routes.names())
        reserved = await self._database.run(plan, atomic=False)
        reach("reserved")
        if reserved:
            self._clock.anchor(reserved[0].leased_until - self._lease)
        within = await self._not_left_alone(await self._within_budget(reserved))
        self._under_way.update(session.broker.queue(each.priority, each.attempt) for each in within)
        return within

    async def publish(self, session: Session, reserved: Sequence[Reserved]) -> None:
        """Publish a message for each. Whatever is not confirmed is due as it was, and its lane is left alone."""
        postings = [_posting(each, session.broker, self.deployment) for each in reserved]
        fates = await session.publish(postings)
        reach("published")
        self._meter.published(fates)
        self._count(postings, fates)
        begun = self._note_refusals(reserved, fates, session.broker)
        confirmed = [each for each, fate in zip(reserved, fates, strict=True) if fate is Fate.CONFIRMED]
        failed = [each for each, fate in zip(reserved, fates, strict=True) if fate is not Fate.CONFIRMED]
        self.published += len(confirmed)
        await self._database.run(dispatch.confirm_queued([each.claim for each in confirmed]), atomic=False)
        await self._database.run(claims.release([each.claim for each in failed]), atomic=False)
        reach("marked")
        for each, fate in zip(reserved, fates, strict=True):
            _tell(each, fate, session.broker, again=each.priority not in begun)

    def _count(self, postings: Sequence[Posting], fates: Sequence[Fate]) -> None:
        """These are no longer under way; what was refused or came back is in no queue."""
        for posting, fate in zip(postings, fates, strict=True):
            self._under_way[posting.queue] -= 1
            if fate in (Fate.CONFIRMED, Fate.UNCONFIRMED):
                self._over[posting.queue] += 1
                self.depths[posting.queue] = self.depths.get(posting.queue, 0) + 1

    def _note_refusals(self, reserved: Sequence[Reserved], fates: Sequence[Fate], broker: Broker) -> set[Priority]:
        """Leave those lanes alone whose messages were not taken; in which of them that is new."""
        lanes: dict[Priority, list[tuple[str, Fate]]] = {}
        for each, fate in zip(reserved, fates, strict=True):
            lanes.setdefault(each.priority, []).append((broker.queue(each.priority, each.attempt), fate))
        return {lane for lane, told in lanes.items() if self.refusals.note(lane, told)}

    async def look(self, session: Session) -> None:
        """See how many messages wait. Those that were published while we looked are added, counted or not."""
        before = self._over.copy()
        waiting = await session.depths()
        self.depths = {queue: count + self._over[queue] - before[queue] for queue, count in waiting.items()}
        self._looked = time.monotonic()

    async def _room(self, session: Session) -> dict[Priority, int]:
        """How many messages each lane's queues may take; counted on from the last look, until that says enough."""
        room = self._counted_room(session.broker)
        if time.monotonic() - self._looked > LOOK or not all(room.values()):
            await self.look(session)
            room = self._counted_room(session.broker)
        self.full = not all(room.values())
        return {lane: 0 if self.refusals.left_alone(lane) else min(BATCH, seats) for lane, seats in room.items()}

    def _counted_room(self, broker: Broker) -> dict[Priority, int]:
        room = {}
        for lane in LANES:
            waiting = sum(self.depths.get(queue, 0) + self._under_way[queue] for queue in broker.queues(lane))
            room[lane] = max(0, self._ahead - waiting)
        return room

    async def _not_left_alone(self, reserved: Sequence[Reserved]) -> list[Reserved]:
        """Give back what another batch was refused with while we asked: it may be the very same emails."""
        refused = {each.claim for each in reserved if self.refusals.left_alone(each.priority)}
        if not refused:
            return list(reserved)
        await self._database.run(claims.release(refused), atomic=False)
        return [each for each in reserved if each.claim not in refused]

    async def _within_budget(self, reserved: Sequence[Reserved]) -> list[Reserved]:
        spent = [each for each in reserved if each.attempts >= each.max_attempts]
        if not spent:
            return list(reserved)
        dead = await self._database.run(dispatch.give_up([each.claim for each in spent]))
        self._meter.gave_up(len(dead))
        for each in spent:
            logger.warning("email skipped", email_id=each.claim.id, attempt=each.attempts, why="no attempt left")
        return [each for each in reserved if each.attempts < each.max_attempts]


def _posting(each: Reserved, broker: Broker, deployment: str) -> Posting:
    named = Named(each.claim.id, each.attempt)
    return Posting(
        queue=broker.queue(each.priority, each.attempt),
        key=message_key(named.id, named.attempt),
        body=encode(named, deployment=deployment),
    )


def _tell(each: Reserved, fate: Fate, broker: Broker, *, again: bool) -> None:
    """One line for each scheduling action; `next_attempt` is when the email is due again if its message is lost.

    Of what is refused again and again only the first time is worth an operator's attention.
    """
    if fate is Fate.CONFIRMED:
        logger.info(
            "email published",
            email_id=each.claim.id,
            attempt=each.attempt,
            queue=broker.queue(each.priority, each.attempt),
            next_attempt=each.leased_until.isoformat(),
        )
    else:
        tell = logger.debug if again else logger.warning
        tell("email not published", email_id=each.claim.id, attempt=each.attempt, why=fate.value)

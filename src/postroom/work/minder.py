"""Minds one route: heeds what attempts say about it, tells other workers, and looks whether it is well again."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from postroom.claim.clock import DatabaseClock
from postroom.claim.route import Route
from postroom.errors import StoreUnavailable
from postroom.logs import logger
from postroom.send.contract import Report
from postroom.settle.classification import Classify
from postroom.settle.verdict import OK, Health, TransportVerdict
from postroom.store.open import AsyncDatabase
from postroom.work.breaker import WELL, Breaker
from postroom.work.breakers import learn, take_probe
from postroom.work.grapevine import Grapevine


class RouteMinder:
    """The breaker of one route, as this worker knows it; the database has the one that all workers share."""

    def __init__(
        self,
        database: AsyncDatabase,
        route: Route,
        *,
        clock: DatabaseClock,
        grapevine: Grapevine,
        soon: Callable[[Coroutine[Any, Any, None]], None],
        stopped: Callable[[], Coroutine[Any, Any, None]],
        changed: Callable[[], None],
    ) -> None:
        """`soon` runs an errand; `stopped` is called the moment nothing may be sent any more, and gives back what
        has not begun; `changed` tells to look again."""
        self.breaker = WELL
        self._seen = clock.now(), time.monotonic()
        """When we heard of the next look, by the database's clock and by the one that only goes forward."""
        self._database = database
        self._route = route
        self._clock = clock
        self._grapevine = grapevine
        self._soon = soon
        self._stopped = stopped
        self._changed = changed

    def may_send(self) -> bool:
        return self.breaker is WELL or self.breaker.may_send(self._breaker_now())

    @property
    def reason(self) -> str:
        """Why it may not be used."""
        return self.breaker.reason

    @property
    def in_trouble(self) -> bool:
        """It cannot be used, and nobody wanted that: what waits for it may leave by another route."""
        return self.breaker.in_trouble

    def suspects_nothing(self) -> bool:
        """Until now the route was thought to be well: a failure finds out, and costs its email an attempt."""
        return self.breaker is WELL or (self.breaker.may_send(self._breaker_now()) and not self.breaker.failures)

    def hear(self, verdict: TransportVerdict) -> None:
        """Heed what an attempt said, at once here, and soon everywhere."""
        if self.breaker is WELL and (verdict is OK or verdict.health is Health.OK):
            return
        before = self.breaker
        self._keep(before.after(verdict, self._breaker_now(), random.random()))
        if self.breaker != before:
            self._grapevine.pass_on(self._route.name, verdict, self._told)

    async def probe_if_due(self) -> None:
        """Look whether the route is well again, if it is time to."""
        if self.breaker.should_probe(self._breaker_now()):
            await self._probe()

    async def glance(self) -> None:
        """The same, where nobody is to be troubled by a database that is away."""
        with suppress(StoreUnavailable):
            await self.probe_if_due()

    def heed(self, breaker: Breaker) -> None:
        """This is how the route stands for everybody."""
        if breaker != self.breaker:
            self._keep(breaker)
            self._changed()

    def _keep(self, breaker: Breaker) -> None:
        could_send = self.may_send()
        if breaker.next_probe_at != self.breaker.next_probe_at:
            self._seen = self._clock.now(), time.monotonic()
        self.breaker = WELL if breaker == WELL else breaker
        if could_send and not self.may_send():
            self._soon(self._stop(self._stopped()))

    async def _stop(self, giving_back: Coroutine[Any, Any, None]) -> None:
        await giving_back
        self._changed()  # another route may take them

    def _breaker_now(self) -> datetime:
        """The time to hold against the breaker's next look: a wait that was begun ends by the clock that only goes
        forward, wherever the database's is set meanwhile."""
        instant, since = self._seen
        return max(self._clock.now(), instant + timedelta(seconds=time.monotonic() - since))

    def _told(self, breaker: Breaker | None) -> None:
        """Others have heard what we have, and this is how the route stands."""
        if breaker is not None:
            self._keep(breaker)
        if not self.may_send():
            logger.warning(
                "route stopped",
                route=self._route.name,
                server=self._route.server,
                state=self.breaker.state.value,
                reason=self.breaker.reason,
            )
        self._changed()

    async def _probe(self) -> None:
        plan = take_probe(self._route.name, waited_for=self.breaker.next_probe_at, jitter=random.random())
        if not await self._database.run(plan):
            return
        verdict = _probed(self._route.channel.classify, await self._route.transport.probe())
        learnt = learn(self._route.name, verdict, jitter=random.random(), probe=True)
        self._keep(await self._database.run(learnt))
        logger.info("route probed", route=self._route.name, state=self.breaker.state.value)
        self._changed()


def _probed(classify: Classify, report: Report) -> TransportVerdict | None:
    """What a probe says about the route."""
    if report.fault is None and (report.reply is None or report.reply.code < 400):
        return OK
    return classify(report).transport

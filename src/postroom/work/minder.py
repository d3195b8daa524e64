"""Minds one transport: heeds what attempts say about it, tells other workers, and looks whether it is well again."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from postroom.claim.clock import DatabaseClock
from postroom.errors import StoreUnavailable
from postroom.logs import logger
from postroom.send.contract import Report
from postroom.send.smtp.pool import SmtpTransport
from postroom.settle.classify import classify
from postroom.settle.verdict import OK, Health, TransportVerdict
from postroom.store.open import AsyncDatabase
from postroom.work.breaker import WELL, Breaker
from postroom.work.transports import learn, standing_of, take_probe


class TransportMinder:
    """The breaker of one transport, as this worker knows it; the database has the one that all workers share."""

    def __init__(
        self,
        database: AsyncDatabase,
        transport: SmtpTransport,
        *,
        clock: DatabaseClock,
        soon: Callable[[Coroutine[Any, Any, None]], None],
        stopped: Callable[[], Coroutine[Any, Any, None]],
        changed: Callable[[], None],
    ) -> None:
        """`soon` runs an errand; `stopped` is awaited when nothing may be sent; `changed` tells to look again."""
        self.breaker = WELL
        self._seen = clock.now(), time.monotonic()
        """When we heard of the next look, by the database's clock and by the one that only goes forward."""
        self._database = database
        self._transport = transport
        self._clock = clock
        self._soon = soon
        self._stopped = stopped
        self._changed = changed

    def may_send(self) -> bool:
        return self.breaker is WELL or self.breaker.may_send(self._breaker_now())

    @property
    def reason(self) -> str:
        """Why it may not be used."""
        return self.breaker.reason

    def suspects_nothing(self) -> bool:
        """Until now the transport was thought to be well: a failure finds out, and costs its email an attempt."""
        return self.breaker is WELL or (self.breaker.may_send(self._breaker_now()) and not self.breaker.failures)

    def hear(self, verdict: TransportVerdict) -> None:
        """Heed what an attempt said, at once here, and soon everywhere."""
        if self.breaker is WELL and (verdict is OK or verdict.health is Health.OK):
            return
        before = self.breaker
        self._keep(before.after(verdict, self._breaker_now(), random.random()))
        if self.breaker != before:
            self._soon(self._spread(verdict))

    async def look(self) -> None:
        """See what other workers or people did to the transport, show that it is used, probe it when it is time."""
        before = self.breaker
        standing = await self._database.run(standing_of(self._transport.name), atomic=False)
        self._clock.anchor(standing.now)
        if self.breaker is before:  # else we know more by now than the answer does
            self.heed(standing.breaker)
        if self.breaker.should_probe(self._breaker_now()):
            await self._probe()

    async def glance(self) -> None:
        """See whether a transport that was found stopped is well again, if it is time to look."""
        if self.breaker.should_probe(self._breaker_now()):
            with suppress(StoreUnavailable):
                await self._probe()

    def heed(self, breaker: Breaker) -> None:
        """This is how the transport stands for everybody."""
        if breaker != self.breaker:
            self._keep(breaker)
            self._changed()

    def _keep(self, breaker: Breaker) -> None:
        if breaker.next_probe_at != self.breaker.next_probe_at:
            self._seen = self._clock.now(), time.monotonic()
        self.breaker = WELL if breaker == WELL else breaker

    def _breaker_now(self) -> datetime:
        """The time to hold against the breaker's next look: a wait that was begun ends by the clock that only goes
        forward, wherever the database's is set meanwhile."""
        instant, since = self._seen
        return max(self._clock.now(), instant + timedelta(seconds=time.monotonic() - since))

    async def _spread(self, verdict: TransportVerdict) -> None:
        try:
            self._keep(await self._database.run(learn(self._transport.name, verdict, jitter=random.random())))
        except StoreUnavailable as error:
            logger.warning("could not tell other workers of the transport", error=str(error))
        if not self.may_send():
            logger.warning(
                "transport stopped",
                transport=self._transport.name,
                state=self.breaker.state.value,
                reason=self.breaker.reason,
            )
            await self._stopped()
        self._changed()

    async def _probe(self) -> None:
        plan = take_probe(self._transport.name, waited_for=self.breaker.next_probe_at, jitter=random.random())
        if not await self._database.run(plan):
            return
        verdict = _probed(await self._transport.probe())
        learnt = learn(self._transport.name, verdict, jitter=random.random(), probe=True)
        self._keep(await self._database.run(learnt))
        logger.info("transport probed", transport=self._transport.name, state=self.breaker.state.value)
        self._changed()


def _probed(report: Report) -> TransportVerdict | None:
    """What a probe says about the transport."""
    if report.fault is None and (report.reply is None or report.reply.code < 400):
        return OK
    return classify(report).transport

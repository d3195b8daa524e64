"""Minds one transport: heeds what attempts say about it, tells other workers, and looks whether it is well again."""

from __future__ import annotations

import random
from collections.abc import Callable, Coroutine
from datetime import datetime
from typing import Any

from postroom.errors import StoreUnavailable
from postroom.logs import logger
from postroom.send.contract import Report
from postroom.send.smtp.pool import SmtpTransport
from postroom.settle.classify import classify
from postroom.settle.verdict import OK, Health, TransportVerdict
from postroom.store.open import AsyncDatabase
from postroom.work.breaker import WELL
from postroom.work.transports import known_transports, learn, register, take_probe


class TransportMinder:
    """The breaker of one transport, as this worker knows it; the database has the one that all workers share."""

    def __init__(
        self,
        database: AsyncDatabase,
        transport: SmtpTransport,
        *,
        now: Callable[[], datetime],
        soon: Callable[[Coroutine[Any, Any, None]], None],
        stopped: Callable[[], Coroutine[Any, Any, None]],
        changed: Callable[[], None],
    ) -> None:
        """`soon` runs an errand; `stopped` is awaited when nothing may be sent; `changed` tells to look again."""
        self.breaker = WELL
        self._database = database
        self._transport = transport
        self._now = now
        self._soon = soon
        self._stopped = stopped
        self._changed = changed

    def may_send(self) -> bool:
        return self.breaker is WELL or self.breaker.may_send(self._now())

    @property
    def reason(self) -> str:
        """Why it may not be used."""
        return self.breaker.reason

    def suspects_nothing(self) -> bool:
        """Until now the transport was thought to be well: a failure finds out, and costs its email an attempt."""
        return self.breaker is WELL or (self.breaker.may_send(self._now()) and not self.breaker.failures)

    def hear(self, verdict: TransportVerdict) -> None:
        """Heed what an attempt said, at once here, and soon everywhere."""
        if verdict.health is Health.OK and self.breaker is WELL:
            return
        before = self.breaker
        self.breaker = before.after(verdict, self._now(), random.random())
        if self.breaker != before:
            self._soon(self._spread(verdict))

    async def look(self) -> None:
        """See what other workers or people did to the transport, show that it is used, probe it when it is time."""
        known = {
            each.name: each.breaker for each in await self._database.run(known_transports(), writes=False, atomic=False)
        }
        if self._transport.name not in known:
            await self._database.run(register(self._transport.name))
        elif known[self._transport.name] != self.breaker:
            self.breaker = known[self._transport.name]
            self._changed()
        if self.breaker.should_probe(self._now()):
            await self._probe()

    async def _spread(self, verdict: TransportVerdict) -> None:
        try:
            self.breaker = await self._database.run(learn(self._transport.name, verdict, jitter=random.random()))
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
        if not await self._database.run(take_probe(self._transport.name, jitter=random.random())):
            return
        verdict = _probed(await self._transport.probe())
        plan = learn(self._transport.name, verdict, jitter=random.random(), probe=True)
        self.breaker = await self._database.run(plan)
        logger.info("transport probed", transport=self._transport.name, state=self.breaker.state.value)
        self._changed()


def _probed(report: Report) -> TransportVerdict | None:
    """What a probe says about the transport."""
    if report.fault is None and (report.reply is None or report.reply.code < 400):
        return OK
    return classify(report).transport

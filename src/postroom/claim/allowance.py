"""How many emails a worker may claim now, in step with every other worker over the same transport."""

from __future__ import annotations

import asyncio

from postroom.claim.rate import parse_rate
from postroom.claim.transports import reserve_rate, return_rate
from postroom.send.smtp.pool import SmtpTransport
from postroom.store.open import AsyncDatabase

LONGEST_WAIT = 1.0
"""Seconds to wait at most for the next permission before looking around again."""


class Allowance:
    """The transport's `rate`; without one, as many as are wanted."""

    def __init__(self, database: AsyncDatabase, transport: SmtpTransport) -> None:
        self._database = database
        self._name = transport.name
        self._rate = parse_rate(transport.server.rate) if transport.server.rate else None

    async def grant(self, wanted: int) -> int:
        """How many may be claimed; when there are none, after waiting a little for the next."""
        if self._rate is None or not wanted:
            return wanted
        granted = await self._database.run(reserve_rate(self._name, wanted, self._rate))
        if not granted.granted:
            await asyncio.sleep(min(granted.wait / 1_000_000, LONGEST_WAIT))
        return granted.granted

    async def give_back(self, unused: int) -> None:
        """Nobody had an email for these."""
        if self._rate is not None and unused:
            await self._database.run(return_rate(self._name, unused, self._rate))

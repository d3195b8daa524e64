"""How many emails a worker may claim now, in step with every other worker over the same route."""

from __future__ import annotations

import asyncio

from postroom.claim.rate import Rate, Reservation, reserve
from postroom.claim.route import Route
from postroom.store.contract import instant, microseconds
from postroom.store.open import AsyncDatabase
from postroom.store.plan import Plan, ask

LONGEST_WAIT = 1.0
"""Seconds to wait at most for the next permission before looking around again."""


class Allowance:
    """The rate of a route; without one, as many as are wanted."""

    def __init__(self, database: AsyncDatabase, route: Route) -> None:
        self._database = database
        self._name = route.name
        self._rate = route.rate

    async def grant(self, wanted: int) -> int:
        """How many may be claimed; when there are none, after waiting a little for the next."""
        if self._rate is None or not wanted:
            return wanted
        granted = await self._database.run(reserve_rate(self._name, wanted, self._rate))
        if not granted.granted:
            await asyncio.sleep(min(granted.wait / 1_000_000, LONGEST_WAIT))
        return granted.granted

    async def grant_at_once(self, wanted: int) -> int:
        """The same without waiting."""
        if self._rate is None or not wanted:
            return wanted
        return (await self._database.run(reserve_rate(self._name, wanted, self._rate))).granted

    async def give_back(self, unused: int) -> None:
        """Nobody had an email for these."""
        if self._rate is not None and unused:
            await self._database.run(return_rate(self._name, unused, self._rate))


def reserve_rate(name: str, wanted: int, rate: Rate) -> Plan[Reservation]:
    """Ask for permission to send so many now, in step with every other worker."""
    [[*_, arrival, now]] = yield ask("lock_transport", name=name)
    granted = reserve(arrival, microseconds(instant(now)), wanted, rate)
    if granted.granted:
        yield ask("change_arrival", name=name, arrival=granted.arrival)
    return granted


def return_rate(name: str, unused: int, rate: Rate) -> Plan[None]:
    """Give back permissions that nobody had an email for: an idle worker must not use up what others could send."""
    [[*_, arrival, _now]] = yield ask("lock_transport", name=name)
    yield ask("change_arrival", name=name, arrival=arrival - unused * rate.interval)

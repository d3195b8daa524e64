"""The emails a worker holds: each under a lease that ends, and is renewed while the email is on its way.

The end of a lease is kept on the monotonic clock, counted from before the claim was asked for: whatever the database
thinks, it thinks later. So a lease that has time left here has time left there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from math import inf

from postroom.claim.clock import DatabaseClock
from postroom.errors import StoreUnavailable
from postroom.logs import logger
from postroom.store import claims
from postroom.store.contract import Claim, Claimed
from postroom.store.open import AsyncDatabase

MARGIN = 0.1
"""The share of a lease that must be left for a dot to leave."""


class Holdings:
    """What is ours for now. Iterates over the claims."""

    def __init__(self, database: AsyncDatabase, lease: timedelta, clock: DatabaseClock) -> None:
        self._database = database
        self._clock = clock
        self._lease = lease
        self._margin = lease.total_seconds() * MARGIN
        self._ends: dict[Claim, float] = {}
        self._began: dict[Claim, float] = {}
        self.gone: Callable[[Claim], None] = _nobody_asks
        """Told of every claim that is held no longer: it is settled, given back, or lost to somebody else."""
        self.dotted: set[Claim] = set()
        """Whose dot may have left, with no reply yet."""

    def __len__(self) -> int:
        return len(self._ends)

    def __iter__(self) -> Iterator[Claim]:
        return iter(self._ends)

    def add(self, emails: list[Claimed], *, asked: float) -> None:
        """These were claimed; `asked`, on the monotonic clock, is when the claim was sent."""
        self._clock.anchor(emails[0].claimed_at)
        end = asked + self._lease.total_seconds()
        for email in emails:
            self._ends[email.claim] = end
            self._began[email.claim] = asked

    @property
    def oldest(self) -> float:
        """Since when, on the monotonic clock, the first of them has been ours; the end of time where there is none."""
        return min(self._began.values(), default=inf)

    def held_since(self, claim: Claim) -> float:
        """When a claim was asked for; at no time, where it is not ours any more."""
        return self._began.get(claim, inf)

    def has_time_left(self, claim: Claim) -> bool:
        """Whether a dot may still leave under this claim."""
        return self._ends.get(claim, 0.0) - time.monotonic() > self._margin

    def let_go(self, claim: Claim) -> None:
        """It is settled, or no longer ours."""
        if self._ends.pop(claim, None) is not None:
            del self._began[claim]
            self.gone(claim)

    def now_for(self, email: Claimed) -> datetime:
        """The time to judge an email in hand by, wherever a clock was set since its claim: the earlier of two.

        A clock that was set ahead makes nothing expired or late, and one that was set back makes no wait longer.
        """
        began = self._began.get(email.claim)
        if began is None:
            return self._clock.now()
        return min(self._clock.now(), email.claimed_at + timedelta(seconds=time.monotonic() - began))

    def not_dotted(self) -> list[Claim]:
        """Those that can be given back: an email whose dot may have left never is."""
        return [claim for claim in self._ends if claim not in self.dotted]

    async def renew(self) -> None:
        """Lengthen every lease; forget those that somebody has taken over."""
        if not self._ends:
            return
        mine, asked = list(self._ends), time.monotonic()
        renewed = await self._database.run(claims.renew(mine, lease=self._lease), atomic=False)
        end = asked + self._lease.total_seconds()
        # We may hold an email twice: a claim that was taken from us, and a newer one. Only the newest was renewed.
        newest = {claim.id: claim for claim in sorted(mine, key=lambda claim: claim.token)}
        for claim in mine:
            if claim not in self._ends:
                continue
            if claim.id in renewed and newest[claim.id] == claim:
                self._ends[claim] = end
            elif claim not in self.dotted:
                self.let_go(claim)

    async def note_dot(self, claim: Claim) -> bool:
        """Note in the database that a dot may leave, for an email that must never go twice; False if it is not ours."""
        try:
            noted = await self._database.run(claims.note_dots([claim]), atomic=False)
        except StoreUnavailable:
            noted = set()
        if claim.id not in noted:
            self.let_go(claim)  # its lease will run out, and it was not begun
        return claim.id in noted

    async def give_back(self, mine: Iterable[Claim]) -> None:
        """Have others send these. A claim that is lost already is left alone by the store."""
        claimed = list(mine)
        if not claimed:
            return
        try:
            await self._database.run(claims.release(claimed), atomic=False)
        except StoreUnavailable as error:
            logger.warning("leases will run out instead of being given back", emails=len(claimed), error=str(error))
        for claim in claimed:
            self.let_go(claim)

    async def put_off(self, mine: Iterable[Claim], *, seconds: float, reason: str) -> None:
        """The same, but not before so many seconds have passed. No attempt is counted."""
        claimed = list(mine)
        if not claimed:
            return
        until = self._clock.now() + timedelta(seconds=seconds)
        try:
            await self._database.run(claims.defer(claimed, until=until, reason=reason))
        except StoreUnavailable as error:
            logger.warning("leases will run out instead of being put off", emails=len(claimed), error=str(error))
        for claim in claimed:
            self.let_go(claim)


def _nobody_asks(claim: Claim) -> None:
    """Most workers' feeds do not care."""

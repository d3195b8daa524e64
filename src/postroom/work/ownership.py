"""Whether this process may send from its database: asked before anything is claimed, then every second, and again after
every outage, because a database that was away may be another one now.

It costs one small question a second and nothing for each claim. What was claimed before the answer turned to no is
given back if it has not begun.
"""

from __future__ import annotations

import asyncio
from typing import Protocol, TypeVar

from postroom.claim.feed import first_of
from postroom.errors import StoreUnavailable, WrongDeployment
from postroom.logs import logger
from postroom.store.deployment import Stamp, refusal, stamp
from postroom.store.failures import translated
from postroom.store.open import AsyncDatabase
from postroom.store.plan import Plan

T = TypeVar("T")

LOOK = 1.0
"""Seconds between two looks."""
FIRST_PAUSE, LAST_PAUSE = 0.05, 1.0


class Stoppable(Protocol):
    """Something that may be told to stop while it waits."""

    stopping: asyncio.Event


class Ownership:
    """What one process knows of whose its database is."""

    def __init__(self, database: AsyncDatabase, configured: str) -> None:
        self.stamp: Stamp | None = None
        """As it was found first."""
        self.refusal: WrongDeployment | None = None
        """Why nothing may be sent, as far as known."""
        self._database = database
        self._configured = configured
        self._outages_when_seen = -1

    @property
    def confirmed(self) -> bool:
        """It is ours, for all that has been seen since the last outage."""
        return self.refusal is None and self._outages_when_seen == self._outages

    async def look(self) -> None:
        """Find out. Raises `StoreUnavailable` where the database is away."""
        await self._database.run(self._look(), writes=False, atomic=False)

    def behind_a_look(self, plan: Plan[T]) -> Plan[T]:
        """The plan as it is; or, where there is reason to look, behind a look over the same connection, which raises
        `WrongDeployment` in its place.

        Whether there is reason is asked when the plan begins: by then its connection is at hand, and if that had to be
        made anew, it may be to another database.
        """
        if not self.confirmed:
            try:
                yield from self._look()
                if self.refusal is not None:
                    raise self.refusal
            except BaseException:
                plan.close()
                raise
        return (yield from plan)

    def _look(self) -> Plan[None]:
        """What is seen counts from when this begins: an outage that was noticed on the way to a connection is over."""
        outages = self._outages
        self._learn((yield from self._stamp()), outages)

    @staticmethod
    def _stamp() -> Plan[Stamp | None]:
        """Whatever else than an outage keeps us from looking, keeps us from sending: a right that is missing."""
        try:
            return (yield from stamp())
        except Exception as error:
            if translated(error) is not None:
                raise
            raise WrongDeployment(
                f"it could not be seen whose database this is ({type(error).__name__}): nothing is sent from it; on "
                "PostgreSQL, run `postroom migrate --roles` again after an upgrade"
            ) from error

    def _learn(self, found: Stamp | None, outages: int) -> None:
        before, self.refusal = self.refusal, refusal(found, self._configured) or self._change(found)
        if self._outages_when_seen < 0:
            self.stamp = found
        self._outages_when_seen = outages
        if self.refusal is not None and before is None:
            logger.error("nothing is sent", reason=str(self.refusal))

    async def is_ours(self) -> bool:
        """Whether it is, looked at anew if there is reason to."""
        if not self.confirmed:
            await self.look()
        return self.refusal is None

    async def insist(self, service: Stoppable) -> None:
        """Wait until the database can be asked; `WrongDeployment` where it is not ours."""
        pause = FIRST_PAUSE
        while not service.stopping.is_set():
            try:
                await self.look()
                break
            except StoreUnavailable as error:
                logger.warning("the database is away", error=str(error))
                await self._database.refresh()
                await first_of(service.stopping.wait(), seconds=pause)
                pause = min(pause * 2, LAST_PAUSE)
        if self.refusal is not None:
            raise self.refusal

    def _change(self, found: Stamp | None) -> WrongDeployment | None:
        """It was adopted while we ran: what we have in hand is from before."""
        if self._outages_when_seen < 0 or (found and found.id) == (self.stamp and self.stamp.id):
            return None
        return WrongDeployment("the database was adopted while this process ran: nothing more is sent; start it again")

    @property
    def _outages(self) -> int:
        return getattr(self._database, "outages", 0)

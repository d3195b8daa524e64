"""Brings a worker the mail of campaigns, beside the emails that are simply due.

Each look is one transaction (`tick.py`); between looks it sleeps until a workspace's time has come, somebody rings, or
one of its own emails is settled. Any number of workers may do so at once: a workspace is looked at by one at a time,
and none waits for another.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from random import Random
from typing import TYPE_CHECKING

from postroom.campaigns.books.mails import BELL, next_beat, something_to_do
from postroom.campaigns.sending.objecting import leave
from postroom.campaigns.sending.tick import Clerk, tick
from postroom.claim.failpoint import reach
from postroom.claim.feed import Workbench, first_of
from postroom.errors import StoreUnavailable
from postroom.logs import logger
from postroom.outbox.submission import HouseRules
from postroom.store.contract import Claim, Claimed
from postroom.store.order import Lease
from postroom.store.plan import Plan
from postroom.vocabulary import Priority
from postroom.work.objections import Objection
from postroom.work.parcel import Parcel

if TYPE_CHECKING:
    from postroom.templates.portal import Portal

PASSED = 1.0
"""Seconds for which a workspace is left to others whose mail cannot leave here."""
TROUBLE = 60.0
"""The same where the settings are at fault."""
BREATH = 0.02
"""Seconds between looks at least, however often the bell rings; on SQLite every commit rings it."""
FIRST_PAUSE, LAST_PAUSE = 0.05, 1.0


class CampaignFeed:
    """Looks for mail of campaigns until stopped."""

    def __init__(
        self,
        bench: Workbench,
        *,
        rules: HouseRules,
        portals: Callable[[], Mapping[str, Portal]] = dict,
        random: Random | None = None,
        patience: timedelta = timedelta(0),
    ) -> None:
        """With `patience`, a turn that comes within that time from now on is something to do: it is waited for."""
        self.stopping = asyncio.Event()
        self.idle = False
        """The last look found nothing to do, and nothing has happened since."""
        self._patient_until = time.monotonic() + patience.total_seconds()
        self._bench = bench
        self._bell = bench.wake_up.bell(BELL)
        self._clerk = Clerk(
            lease=Lease(worker=bench.worker, seconds=bench.lease.total_seconds()),
            rules=rules,
            random=random or Random(),
            portals=portals,
        )
        self._mine: dict[Claim, str] = {}
        """What is in hand, and by which route."""
        self._passed: dict[str, float] = {}
        """Workspaces that are left to others, and until when on the monotonic clock."""
        self._unread: dict[str, float] = {}
        """Those whose settings cannot be read here, likewise."""
        self._gone, bench.holdings.gone = bench.holdings.gone, self._settled

    async def until_stopped(self) -> None:
        """Look, send, look again. While the database is away, try again a little later each time."""
        pause = FIRST_PAUSE
        while not self.stopping.is_set():
            try:
                seconds = await self._look()
                pause = FIRST_PAUSE
            except StoreUnavailable as error:
                logger.warning("campaigns wait for the database", error=str(error))
                seconds, pause = pause, min(pause * 2, LAST_PAUSE)
            if seconds:
                await first_of(self._bell.wait(), self.stopping.wait(), seconds=seconds)

    def stop(self) -> None:
        """Begin no more."""
        self.stopping.set()

    def leaving(self, parcel: Parcel, others: Plan[Objection | None]) -> Plan[Objection | None] | None:
        """What lets a mail of a campaign leave; other emails leave without regard to campaigns."""
        return leave(parcel.claim.id, others) if parcel.claimed.priority is Priority.CAMPAIGN else None

    async def _look(self) -> float:
        """Look once; seconds to rest, unless the bell rings."""
        self._bell.clear()
        if not await self._bench.database.run(something_to_do(), writes=False, atomic=False):
            return await self._rested(await self._next_turn())
        routes = self._open_routes()
        if not routes or not self._bench.ready():
            self.idle = not self._bench.may_send()  # then it is for others to do
            return PASSED
        asked = time.monotonic()
        passed, unread = self._left_alone(asked)
        plan = tick(self._clerk, routes=routes, passed=passed, unread=unread)
        found = await self._bench.database.run(self._bench.guard(plan))
        if found.claimed is not None:
            self._take(found.claimed, asked)
        if found.passed is not None:
            left = self._unread if found.unread else self._passed
            left[found.passed] = time.monotonic() + (TROUBLE if found.trouble else PASSED)
            if found.passed in passed:  # it has something to conclude, and cannot be helped here
                return PASSED
        return 0.0 if found.worked else await self._rested(found.next_at)

    def _take(self, email: Claimed, asked: float) -> None:
        """From here on it is an email like any other."""
        reach("campaign_claimed")
        self._mine[email.claim] = email.route
        self._bench.holdings.add([email], asked=asked)
        self._bench.meter.claimed([email], time.monotonic() - asked)
        self._bench.ways[email.route].buffer.add([email])  # whether it may be mailed was asked with its turn

    async def _next_turn(self) -> datetime | None:
        """When a turn comes; who is not patient sleeps as long without knowing."""
        now = time.monotonic()
        if now >= self._patient_until:
            return None
        passed, unread = self._left_alone(now)
        return await self._bench.database.run(next_beat({*passed, *unread}), writes=False)

    def _left_alone(self, now: float) -> tuple[list[str], list[str]]:
        """Workspaces that are left to others for now, and those whose settings cannot be read here."""
        self._passed, self._unread = _still(self._passed, now), _still(self._unread, now)
        return list(self._passed), list(self._unread)

    async def _rested(self, next_at: datetime | None) -> float:
        """Nothing to do, perhaps until then: how long to sleep."""
        turn = math.inf if next_at is None else (next_at - self._bench.clock.now()).total_seconds()
        self.idle = not self._bell.is_set() and time.monotonic() + turn >= self._patient_until
        await asyncio.sleep(BREATH)
        return min(self._bench.poll.total_seconds(), max(turn, BREATH), PASSED)

    def _open_routes(self) -> frozenset[str]:
        """Those by which an email can leave at once, and something urgent beside it.

        Of several connections one is never a campaign's: a server that does not answer would soon have all of them.
        """
        in_hand = Counter(self._mine.values())
        return frozenset(
            name
            for name, way in self._bench.ways.items()
            if way.gate.may_send()
            and len(way.buffer) < (connections := way.route.transport.connections)
            and in_hand[name] < max(1, connections - 1)
        )

    def _settled(self, claim: Claim) -> None:
        """One of ours is settled or given back: something is to be concluded."""
        self._gone(claim)
        if self._mine.pop(claim, None) is not None:
            self.idle = False
            self._bell.set()


def _still(until: Mapping[str, float], now: float) -> dict[str, float]:
    """Those whose time is not over yet."""
    return {workspace: end for workspace, end in until.items() if end > now}

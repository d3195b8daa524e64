"""The one engine that attempts emails: for a worker, for a sender behind a broker, and inside an application.

Whoever feeds it puts emails into the buffer of their route, each under a lease whose end is counted from before it was
asked for. The lines of that route take them out and send, one task commits what came of them, and beside them run the
duties that keep the promise: renewing leases and minding the routes. Each route has a buffer, a breaker and lines of
its own; journal, leases and settler are one for all.

What holds at every moment: an email in the buffer or on a line is held under a lease; its dot leaves only after the
journal has noted it and while the lease has time left; whatever came of it is in the journal before anything else
happens, and in the database soon after. No database connection is held while an email is being sent. What has begun is
brought to its recorded end, whoever stops waiting for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path

from postroom.claim.buffer import Buffer
from postroom.claim.clock import DatabaseClock
from postroom.claim.leases import Holdings
from postroom.claim.meter import UNMETERED, Meter
from postroom.claim.room import Room
from postroom.claim.route import Route
from postroom.compose import DEFAULT_LIMITS, Limits
from postroom.compose.late import Render, is_late
from postroom.logs import logger
from postroom.sealing import NO_KEYS, Keyring
from postroom.store.contract import Claim, Claimed
from postroom.store.open import AsyncDatabase
from postroom.store.suppressions import AS_SHIPPED, SuppressionRules
from postroom.work.attempts import Attempts
from postroom.work.breakers import standing_of
from postroom.work.clearance import Clearance
from postroom.work.crew import Crew
from postroom.work.grapevine import Grapevine
from postroom.work.journal import Journal, worker_name
from postroom.work.loading import Loading
from postroom.work.minder import RouteMinder
from postroom.work.ownership import Ownership
from postroom.work.records import Records
from postroom.work.rendering import KNOWS_NO_PORTAL, Rendering
from postroom.work.settler import Settler
from postroom.work.stops import LISTEN, Stops

DUTY = 1.0
"""Seconds between rounds of the small duties."""
RECORDING = 5.0
"""Seconds, at least, to record what is known when the engine stops, however little grace the emails themselves get."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """How emails are attempted."""

    lease: timedelta = timedelta(seconds=30)
    grace: timedelta = timedelta(seconds=30)
    """How long emails under way may take to finish when the engine is asked to stop."""
    keep_sent: bool = True
    deployment: str = ""
    """The one whose database this has to be for anything to be sent; empty where none was named."""
    journals: Path = Path(".postroom")
    inline_limit: timedelta = timedelta(seconds=10)
    """How long an email may take whose sender waits for it, until its dot."""
    keyring: Keyring = NO_KEYS
    """What the contents of sensitive emails are opened with."""
    render: Render = KNOWS_NO_PORTAL
    """What gives emails their words that are rendered when they are first attempted …"""
    limits: Limits = DEFAULT_LIMITS
    """… and how large they may be then."""
    suppressions: SuppressionRules = AS_SHIPPED
    """Which emails an entry about an address stops."""


class Engine:
    """Attempts what is put into its buffers. Belongs to one event loop, in one process."""

    def __init__(
        self,
        database: AsyncDatabase,
        routes: Iterable[Route],
        settings: EngineSettings,
        *,
        failed: Callable[[], None],
        changed: Callable[[str], None] = lambda route: None,
        refused: Callable[[], None] = lambda: None,
        clock: DatabaseClock | None = None,
        meter: Meter = UNMETERED,
    ) -> None:
        """`failed` is called when a task ended by a bug of ours; `changed` when more may be possible than before, with
        the route for which that is so, or with no name for all; `refused` when the database turns out to be another
        deployment's, from which nothing may be sent.

        Raises `JournalFailed` where no journal can be kept: then nothing may be sent.
        """
        self.name = worker_name()
        self.settings = settings
        self.clock = clock or DatabaseClock()
        self.ownership = Ownership(database, settings.deployment)
        self.journal = Journal(settings.journals, self.name)
        self.crew = Crew(database, stop=failed)
        self.held = Holdings(database, settings.lease, self.clock)
        self.settler = Settler(database, self.journal, keep_sent=settings.keep_sent, settled=self.held.let_go)
        self.settler.meter = meter
        self.settler.busy = self._has_more
        self.records = Records(
            journal=self.journal,
            holdings=self.held,
            settler=self.settler,
            failed=lambda: self.crew.run_errand(self._empty_buffers()),
        )
        self._database = database
        self._changed = changed
        self._refused = refused
        self._meter = meter
        self._loading = Loading(database, settings.keyring)
        self.rendering = Rendering(
            database, records=self.records, loading=self._loading, render=settings.render, limits=settings.limits
        )
        self.stops = Stops(database, holdings=self.held, rules=settings.suppressions)
        self.clearance = Clearance(database, records=self.records, stops=self.stops, meter=meter)
        self._grapevine = Grapevine(database, soon=self.crew.run_errand)
        self._room = Room()
        self.routes = {route.name: self._attempts(route) for route in routes}
        self.has_looked = False
        """It is known how the routes stand: before that, one that a person has paused may look well."""
        self.lines: list[asyncio.Task[None]] = []
        """Each sends one email after another."""

    def _attempts(self, route: Route) -> Attempts:
        minder = RouteMinder(
            self._database,
            route,
            clock=self.clock,
            grapevine=self._grapevine,
            soon=self.crew.run_errand,
            stopped=lambda: self.routes[route.name].empty_buffer(),
            changed=partial(self._tell_of_change, route),
        )
        return Attempts(
            route,
            buffer=Buffer(self._room),
            minder=minder,
            records=self.records,
            clearance=self.clearance,
            loading=self._loading,
            meter=self._meter,
            limit=self.settings.inline_limit.total_seconds(),
            soon=self.crew.run_errand,
        )

    @property
    def idle(self) -> bool:
        """Nothing is in hand, and nothing is left to record."""
        return not len(self.held) and not self.settler.backlog

    def start(self) -> None:
        """Attempt whatever comes into the buffers from now on."""
        crew, lease = self.crew, self.settings.lease.total_seconds()
        crew.add_duty("settle", self.settler.run())
        crew.every(lease / 3, self.held.renew, name="renew")
        crew.every(DUTY, self.mind, name="mind")
        crew.every(LISTEN, self.stops.listen, name="suppressions")
        self.lines = [
            crew.take_on(f"line of {name}", attempts.run_line())
            for name, attempts in self.routes.items()
            for _ in range(attempts.route.transport.connections)
        ]

    def take(self, emails: list[Claimed], *, asked: float, cleared: bool = False) -> None:
        """Attempt these, held since `asked` on the monotonic clock. `cleared`: the database was asked about them."""
        self.held.add(emails, asked=asked)
        for email in emails:
            buffer = self.routes[email.route].buffer
            if is_late(email.envelope) or not cleared:
                self.crew.run_errand(self.hand_over([email], buffer.add))
            else:
                buffer.add([email])

    async def hand_over(self, emails: Sequence[Claimed], ready: Callable[[Sequence[Claimed]], None]) -> None:
        """Call `ready` with those of these emails that may leave, as soon as they have their words."""
        if cleared := await self.clearance.sift(emails):
            await self.rendering.hand_over(cleared, ready)

    async def give_back(self, claims: Collection[Claim]) -> None:
        """Leave those of them to others that have not begun."""
        found = [email.claim for each in self.routes.values() for email in each.buffer.remove(claims)]
        await self.held.give_back(found)

    def stop(self) -> None:
        """Begin nothing more."""
        self.rendering.closing = True
        for attempts in self.routes.values():
            attempts.closing = True

    async def finish(self) -> None:
        """Give back what has not begun, let the rest finish within the grace, then record what is known of it."""
        self.stop()
        for attempts in self.routes.values():
            attempts.close()
        await self._empty_buffers()
        if self.lines:
            _done, late = await asyncio.wait(self.lines, timeout=self.settings.grace.total_seconds())
            for line in late:
                line.cancel()
            await asyncio.gather(*self.lines, return_exceptions=True)
        try:
            async with asyncio.timeout(max(self.settings.grace.total_seconds(), RECORDING)):
                await self.settler.empty.wait()
                # An email whose dot may have left is never given back: its journal says so, and stays.
                await self.held.give_back(self.held.not_dotted())
                await self.crew.errands_done()
        except TimeoutError:
            logger.error("stopped with outcomes in the journal only", emails=self.settler.backlog)

    async def close(self) -> None:
        """The duties are over, and so is the conversation with the server."""
        await self.crew.call_off()
        for attempts in self.routes.values():
            await attempts.route.transport.close()
        self._loading.close()
        self.rendering.close()
        self.journal.close()

    def _has_more(self) -> bool:
        """More outcomes are on their way."""
        return any(len(attempts.buffer) for attempts in self.routes.values())

    async def _empty_buffers(self) -> None:
        for attempts in self.routes.values():
            await attempts.empty_buffer()

    def _tell_of_change(self, route: Route) -> None:
        """A route stands differently: that concerns its own emails, and those who take them instead."""
        for name in {route.name, route.fallback or route.name}:
            self._changed(name)

    async def mind(self) -> None:
        """See what other workers or people did to the routes, show that they are used, probe those whose time it is."""
        if self.records.mend():
            self._changed("")
        await self.ownership.look()
        if self.ownership.refusal is not None:
            await self._empty_buffers()
            self._refused()
            return
        before = {name: attempts.minder.breaker for name, attempts in self.routes.items()}
        servers = {name: attempts.route.server for name, attempts in self.routes.items()}
        unused = [name for name, each in self.routes.items() if each.route.unasked and not each.buffer.taken]
        standing = await self._database.run(standing_of(servers, unused=unused), atomic=False)
        self.clock.anchor(standing.now)
        for name, attempts in self.routes.items():
            attempts.look_after_lines()
            if attempts.minder.breaker is before[name]:  # else we know more by now than the answer does
                attempts.minder.heed(standing.breakers[name])
        if not self.has_looked:
            self.has_looked = True
            self._changed("")
        await asyncio.gather(*(attempts.minder.probe_if_due() for attempts in self.routes.values()))

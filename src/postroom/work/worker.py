"""The worker: claim → send → settle, until stopped.

The engine attempts what is in its buffer; a feed fills that with what is due, or with what messages in a broker name.
Beside them run a worker's own duties: taking over from the dead, listening for new work, showing a sign of life.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.metadata import version

from postroom.claim.clock import DatabaseClock
from postroom.claim.due import DueFeed
from postroom.claim.feed import Feed, WayOut, Workbench
from postroom.claim.meter import UNMETERED, Meter
from postroom.claim.route import Route
from postroom.claim.wakeup import wake_up_for
from postroom.errors import StoreUnavailable
from postroom.logs import logger
from postroom.posix import check_can_send
from postroom.store import heartbeats, housekeeping, overview
from postroom.store.contract import Claimed
from postroom.store.dismissals import SWEPT, sweep_dismissed
from postroom.store.erasing import sweep_erasable
from postroom.store.open import AsyncDatabase
from postroom.work.beside import Beside
from postroom.work.engine import Engine, EngineSettings
from postroom.work.pruner import Pruner, Pruning
from postroom.work.pulse import Pulse
from postroom.work.recovery import Recovery

VERSION = version("postroom")

MOST_BUFFERED = 800
"""Emails claimed ahead at most: enough to keep sixteen quick lines busy while the next batch is claimed."""
LONGEST_REST = 5.0
"""Seconds an idle worker sleeps at most, for want of a wake-up."""
UNKNOWN_ROUTE = 60.0
"""Seconds for which an email is left alone whose route is not known here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings(EngineSettings):
    """How a worker works."""

    until_idle: bool = False
    """Stop when nothing is due."""
    only_these: bool = False
    """Told to serve some routes: what waits on others is no business of its own."""
    buffer: int = MOST_BUFFERED
    poll: timedelta = timedelta(seconds=LONGEST_REST)
    undo: timedelta = timedelta(days=1)
    """How long what was dismissed can be put back; then a worker removes it."""
    pruning: Pruning | None = None
    """What it removes by itself when its time is up; None: nothing."""
    role: str = "worker"
    """What it is called beside its heartbeat."""


class Worker:
    """One worker process's work."""

    def __init__(
        self,
        database: AsyncDatabase,
        routes: Iterable[Route],
        settings: WorkerSettings | None = None,
        *,
        meter: Meter = UNMETERED,
        pulse: Pulse | None = None,
        feed: Callable[[Workbench], Feed] = DueFeed,
        beside: Callable[[Workbench], Beside] | None = None,
        clock: DatabaseClock | None = None,
    ) -> None:
        """`feed` brings what is due, and `beside` what goes by other rules, such as the mail of campaigns.

        `clock` is for tests that move the time: leases are judged by it too, and it is never taken for one that
        somebody has set ahead.
        """
        check_can_send("a worker")
        self.meter = meter
        self.pulse = pulse or Pulse()
        self.settings = settings = settings or WorkerSettings()
        self._beaten = time.monotonic(), 0
        self._database = database
        self._swept = False
        """Emails of dead workers have been looked for: before that, nobody can say that nothing is left to do."""
        # Its first look is no jump, whatever it shows.
        self._watch = clock or DatabaseClock(wall=lambda: datetime.max.replace(tzinfo=UTC))
        self._unsure_until = 0.0
        self._wake_up = wake_up_for(database)
        self.engine = Engine(
            database,
            routes,
            settings,
            failed=self.stop,
            changed=self._wake_up.ring,
            refused=self.stop,
            clock=clock,
            meter=meter,
        )
        self.name = self.engine.name
        self.pulse.obstacle = self._obstacle
        self._recovery = Recovery(database, worker=self.name, lease=settings.lease, journals=settings.journals)
        self._recovery.believed = self._watch.now
        bench = self._workbench()
        self._feed = feed(bench)
        self._beside = beside(bench) if beside else None
        if self._beside is not None:
            self.engine.clearance.go_by(self._beside.leaving)

    def _workbench(self) -> Workbench:
        engine = self.engine
        return Workbench(
            database=self._database,
            ways={
                name: WayOut(route=each.route, buffer=each.buffer, gate=each.minder)
                for name, each in engine.routes.items()
            },
            worker=self.name,
            lease=self.settings.lease,
            most=self.settings.buffer,
            poll=self.settings.poll,
            until_idle=self.settings.until_idle,
            only_these=self.settings.only_these,
            idle=lambda: self._swept and engine.idle and (self._beside is None or self._beside.idle),
            ready=lambda: (
                engine.has_looked
                and engine.ownership.refusal is None
                and not engine.records.journal_failed
                and not self._recovery.behind
                and engine.settler.backlog <= 2 * MOST_BUFFERED
            ),
            holdings=engine.held,
            clock=engine.clock,
            wake_up=self._wake_up,
            meter=self.meter,
            hand_over=engine.hand_over,
            unknown=lambda emails: engine.crew.run_errand(self._put_off(emails)),
            guard=engine.ownership.behind_a_look,
            deployment=lambda: engine.ownership.stamp.id if engine.ownership.stamp else "",
        )

    # ---------------------------------------------------------------- life

    async def run(self) -> None:
        """Work until `stop` is called, or until idle if so told. Nothing is held when this returns.

        Raises `WrongDeployment` where the database is not ours, or is so no longer.
        """
        engine, crew = self.engine, self.engine.crew
        try:
            await engine.ownership.insist(self._feed)
        except BaseException:
            await engine.close()
            raise
        engine.start()
        crew.add_duty("pulse", self.pulse.run())
        crew.add_duty("wake-up", self._wake_up.run())
        crew.every(min(2.0, self.settings.lease.total_seconds() / 3), self._recover, name="recover")
        crew.every(5.0, self._heartbeat, name="heartbeat")
        crew.every(60.0, self._compact, name="compact")
        if self._beside is not None:
            crew.add_duty("beside", self._beside.until_stopped())
        if self.settings.pruning is not None:
            pruner = Pruner(self._database, self.settings.pruning, now=engine.clock.now)
            crew.every(60.0, pruner.run, name="prune")
        try:
            await self._feed.until_stopped()
        finally:
            self.stop()
            await engine.finish()
            await crew.call_off()
            await self._farewell()
            await engine.close()
        crew.raise_failure()
        if engine.ownership.refusal is not None:
            raise engine.ownership.refusal

    @property
    def left_due(self) -> bool:
        """It has ended by itself, although emails are due that it could not send."""
        return self._feed.left_due

    def stop(self) -> None:
        """No new claims; what is under way may finish, the rest is given back."""
        self.engine.stop()
        self._feed.stop()
        if self._beside is not None:
            self._beside.stop()

    async def look_around(self) -> None:
        """Do at once what the duties do now and then: mind the routes, renew the leases, take over from the dead."""
        await self.engine.mind()
        await self.engine.held.renew()
        await self._recover()

    async def _farewell(self) -> None:
        try:
            await self._database.run(heartbeats.retire(self.name))
        except StoreUnavailable:
            logger.warning("could not sign off", worker=self.name)
        await self._feed.close()

    async def _put_off(self, emails: list[Claimed]) -> None:
        """Leave emails to somebody who knows their routes, and has a while to come for them."""
        for route in {email.route for email in emails}:
            some = [email.claim for email in emails if email.route == route]
            reason = f"a {self.settings.role} got it that does not know the route {route}"
            await self.engine.held.put_off(some, seconds=UNKNOWN_ROUTE, reason=reason)

    # ---------------------------------------------------------------- duties

    async def _recover(self) -> None:
        if not await self.engine.ownership.is_ours() or await self._lost_time():
            return
        found = await self._recovery.sweep(keep_sent=self.settings.keep_sent)
        self.meter.took_over(found)
        if found or not self._swept:
            self._swept = True
            self._wake_up.ring()

    async def _lost_time(self) -> bool:
        """Whether the database's clock was set ahead lately: then every lease looks as if it had run out.

        We lengthen ours, and for a while judge nobody by a lease, so that the others can do the same.
        """
        now = await self._database.run(overview.clock(), writes=False, atomic=False)
        lease = self.settings.lease
        if now - self._watch.now() > lease / 3:
            logger.warning("the database's clock was set ahead", seconds=(now - self._watch.now()).total_seconds())
            self._unsure_until = time.monotonic() + lease.total_seconds()
            await self.engine.held.renew()
        self._watch.anchor(now)
        return time.monotonic() < self._unsure_until

    async def _heartbeat(self) -> None:
        now, attempts = time.monotonic(), self.engine.records.made
        since, before = self._beaten
        self._beaten = now, attempts
        await self._database.run(
            heartbeats.beat(
                self.name,
                role=self.settings.role,
                broker=self._feed.state(),
                host=socket.gethostname(),
                version=VERSION,
                in_flight=len(self.engine.held),
                rate=(attempts - before) / max(now - since, 0.001),
            ),
            atomic=False,
        )
        self.pulse.database_answered()

    def _obstacle(self) -> str:
        if self.engine.records.journal_failed:
            return "the journal cannot be written"
        return "it is stopping" if self._feed.stopping.is_set() else ""

    async def _compact(self) -> None:
        await self._database.run(sweep_erasable())
        while await self._database.run(sweep_dismissed(undo=self.settings.undo)) == SWEPT:
            pass
        await self._database.run(housekeeping.compact())

"""The worker: claim → send → settle, until stopped.

One task claims emails into a buffer, a few lines take them out and send, one task commits what came of them. Beside
them run the small duties that keep the promise: renewing leases, taking over from the dead, minding the transport,
listening for new work, showing a sign of life.

What holds at every moment: an email in the buffer or in a line is held under a lease; its dot leaves only after the
journal has noted it and while the lease has time left; whatever came of it is in the journal before anything else
happens, and in the database soon after. No database connection is held while an email is being sent.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path

from postroom.claim.buffer import Buffer
from postroom.claim.due import Claimer
from postroom.claim.feed import Feed, Workbench
from postroom.claim.leases import Holdings
from postroom.claim.meter import UNMETERED, Meter
from postroom.claim.wakeup import wake_up_for
from postroom.errors import StoreUnavailable
from postroom.logs import logger
from postroom.send.smtp.pool import SmtpTransport
from postroom.store import heartbeats, housekeeping
from postroom.store.open import AsyncDatabase
from postroom.work.attempts import Attempts
from postroom.work.crew import Crew
from postroom.work.journal import Journal, worker_name
from postroom.work.loading import Loading
from postroom.work.minder import TransportMinder
from postroom.work.recovery import Recovery
from postroom.work.settler import Settler

VERSION = version("postroom")

MOST_BUFFERED = 400
"""Emails claimed ahead: enough to keep sixteen lines busy while the next batch is claimed."""
DUTY = 1.0
"""Seconds between rounds of the small duties."""
LONGEST_REST = 5.0
"""Seconds an idle worker sleeps at most, for want of a wake-up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """How a worker works."""

    lease: timedelta = timedelta(seconds=30)
    grace: timedelta = timedelta(seconds=30)
    """How long emails under way may take to finish when the worker is asked to stop."""
    keep_sent: bool = True
    until_idle: bool = False
    """Stop when nothing is due."""
    buffer: int = MOST_BUFFERED
    poll: timedelta = timedelta(seconds=LONGEST_REST)
    journals: Path = Path(".postroom")
    role: str = "worker"
    """What it is called beside its heartbeat."""


class Worker:
    """One worker process's work."""

    def __init__(
        self,
        database: AsyncDatabase,
        transport: SmtpTransport,
        settings: WorkerSettings | None = None,
        *,
        meter: Meter = UNMETERED,
        feed: Callable[[Workbench], Feed] = Claimer,
    ) -> None:
        self.meter = meter
        self.settings = settings = settings or WorkerSettings()
        self.name = worker_name()
        self._beaten = time.monotonic(), 0
        self._database = database
        self._transport = transport
        self._crew = Crew(database, stop=self.stop)
        self._journal = Journal(settings.journals, self.name)
        self._swept = False
        """Emails of dead workers have been looked for: before that, nobody can say that nothing is left to do."""
        self._buffer = Buffer()
        self._held = Holdings(database, settings.lease)
        self._wake_up = wake_up_for(database)
        self._settler = Settler(database, self._journal, keep_sent=settings.keep_sent, settled=self._held.let_go)
        self._settler.meter = meter
        self._settler.busy = lambda: len(self._buffer) > 0
        self._recovery = Recovery(database, worker=self.name, lease=settings.lease, journals=settings.journals)
        self.minder = TransportMinder(
            database,
            transport,
            now=self._held.now,
            soon=self._crew.run_errand,
            stopped=lambda: self._attempts.empty_buffer(),
            changed=self._wake_up.woken.set,
        )
        self._loading = Loading(database)
        self._attempts = Attempts(
            transport,
            buffer=self._buffer,
            holdings=self._held,
            journal=self._journal,
            settler=self._settler,
            minder=self.minder,
            meter=meter,
            loading=self._loading,
            soon=self._crew.run_errand,
        )
        self._feed = feed(self._workbench())

    def _workbench(self) -> Workbench:
        return Workbench(
            database=self._database,
            transport=self._transport,
            worker=self.name,
            lease=self.settings.lease,
            most=self.settings.buffer,
            poll=self.settings.poll,
            until_idle=self.settings.until_idle,
            idle=self._idle,
            ready=lambda: not self._attempts.journal_failed and self._settler.backlog <= 2 * MOST_BUFFERED,
            buffer=self._buffer,
            holdings=self._held,
            gate=self.minder,
            wake_up=self._wake_up,
            meter=self.meter,
        )

    # ---------------------------------------------------------------- life

    async def run(self) -> None:
        """Work until `stop` is called, or until idle if so told. Nothing is held when this returns."""
        lease, crew = self.settings.lease.total_seconds(), self._crew
        crew.add_duty("settle", self._settler.run())
        crew.add_duty("wake-up", self._wake_up.run())
        crew.every(lease / 3, self._held.renew, name="renew")
        crew.every(min(2.0, lease / 3), self._recover, name="recover")
        crew.every(DUTY, self._mind, name="mind")
        crew.every(5.0, self._heartbeat, name="heartbeat")
        crew.every(60.0, self._compact, name="compact")
        lines = [crew.take_on("line", self._attempts.run_line()) for _ in range(self._transport.connections)]
        try:
            await self._feed.until_stopped()
        finally:
            await self._finish(lines)
            await crew.call_off()
            await self._farewell()
        crew.raise_failure()

    def stop(self) -> None:
        """No new claims; what is under way may finish, the rest is given back."""
        self._attempts.closing = True
        self._feed.stop()

    async def _finish(self, lines: list[asyncio.Task[None]]) -> None:
        """Give back what has not begun, let the rest finish within the grace, then record what is known of it."""
        self.stop()
        self._buffer.close()
        await self._attempts.empty_buffer()
        _done, late = await asyncio.wait(lines, timeout=self.settings.grace.total_seconds())
        for line in late:
            line.cancel()
        await asyncio.gather(*lines, return_exceptions=True)
        try:
            async with asyncio.timeout(self.settings.grace.total_seconds()):
                await self._settler.empty.wait()
                # An email whose dot may have left is never given back: its journal says so, and stays.
                await self._held.give_back(self._held.not_dotted())
                await self._crew.errands_done()
        except TimeoutError:
            logger.error("stopped with outcomes in the journal only", emails=self._settler.backlog)

    async def _farewell(self) -> None:
        try:
            await self._database.run(heartbeats.retire(self.name))
        except StoreUnavailable:
            logger.warning("could not sign off", worker=self.name)
        await self._feed.close()
        await self._transport.close()
        self._loading.close()
        self._journal.close()

    def _idle(self) -> bool:
        return self._swept and not len(self._held) and not self._settler.backlog

    # ---------------------------------------------------------------- duties

    async def _mind(self) -> None:
        if self._attempts.mend_journal():
            self._wake_up.woken.set()
        self._attempts.unblock_followers()
        await self.minder.look()

    async def _recover(self) -> None:
        found = await self._recovery.sweep(keep_sent=self.settings.keep_sent)
        self.meter.took_over(found)
        if found or not self._swept:
            self._swept = True
            self._wake_up.woken.set()

    async def _heartbeat(self) -> None:
        now = time.monotonic()
        since, before = self._beaten
        self._beaten = now, self._attempts.attempts
        await self._database.run(
            heartbeats.beat(
                self.name,
                role=self.settings.role,
                broker=self._feed.state(),
                host=socket.gethostname(),
                version=VERSION,
                in_flight=len(self._held),
                rate=(self._attempts.attempts - before) / max(now - since, 0.001),
            ),
            atomic=False,
        )

    async def _compact(self) -> None:
        await self._database.run(housekeeping.compact())

"""The worker: claim → send → settle, until stopped.

One task claims emails into a buffer, a few lanes take them out and send, one task commits what came of them. Beside
them run the small duties that keep the promise: renewing leases, taking over from the dead, minding the transport,
listening for new work, showing a sign of life.

What holds at every moment: an email in the buffer or in a lane is held under a lease; its dot leaves only after the
journal has noted it and while the lease has time left; whatever came of it is in the journal before anything else
happens, and in the database soon after. No database connection is held while an email is being sent.
"""

from __future__ import annotations

import asyncio
import random
import socket
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from postroom.claim.acceptance import accepted
from postroom.claim.buffer import Buffer
from postroom.claim.claimer import Claimer
from postroom.claim.failpoint import reach
from postroom.claim.feed import Feed, Workbench, call_off
from postroom.claim.holdings import Holdings
from postroom.claim.journal import Journal, JournalFailed, worker_name
from postroom.claim.meter import UNMETERED, Meter
from postroom.claim.minder import TransportMinder
from postroom.claim.parcel import Parcel, invalid, left_in_doubt, pack, settlement
from postroom.claim.recovery import Recovery
from postroom.claim.settler import Settler
from postroom.claim.telling import tell_attempt, tell_sent
from postroom.claim.wakeup import wake_up_for
from postroom.errors import StoreUnavailable
from postroom.logs import logger
from postroom.send.contract import Fault, FaultKind, Phase, Report
from postroom.send.smtp.pool import Lane, SmtpTransport
from postroom.settle.outcome import expired, settle, settle_expired
from postroom.settle.verdict import OK
from postroom.store import heartbeats, housekeeping
from postroom.store.contract import Claimed, Settlement
from postroom.store.open import AsyncDatabase
from postroom.vocabulary import OnDoubt

VERSION = version("postroom")

MOST_BUFFERED = 400
"""Emails claimed ahead: enough to keep sixteen lanes busy while the next batch is claimed."""
DUTY = 1.0
"""Seconds between rounds of the small duties."""
LONGEST_REST = 5.0
"""Seconds an idle worker sleeps at most, for want of a wake-up."""
SLOW_DOT = 2.0
"""Seconds after which an email waiting behind a slow reply is given to another lane."""


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
        self.attempts = 0
        self._beaten = time.monotonic(), 0
        self._database = database
        self._transport = transport
        self._errands: set[asyncio.Task[None]] = set()
        self._lanes: dict[asyncio.Task[None], _LaneState] = {}
        self._failure: BaseException | None = None
        self._journal = Journal(settings.journals, self.name)
        self._journal_failed = False
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
            soon=self._run_errand,
            stopped=self._empty_buffer,
            changed=self._wake_up.woken.set,
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
            ready=lambda: not self._journal_failed and self._settler.backlog <= 2 * MOST_BUFFERED,
            buffer=self._buffer,
            holdings=self._held,
            minder=self.minder,
            wake_up=self._wake_up,
            meter=self.meter,
        )

    # ---------------------------------------------------------------- life

    async def run(self) -> None:
        """Work until `stop` is called, or until idle if so told. Nothing is held when this returns."""
        lease = self.settings.lease.total_seconds()
        duties = [
            asyncio.create_task(duty, name=name)
            for name, duty in (
                ("settle", self._settler.run()),
                ("wake-up", self._wake_up.run()),
                ("renew", self._every(lease / 3, self._held.renew)),
                ("recover", self._every(min(2.0, lease / 3), self._recover)),
                ("mind", self._every(DUTY, self._mind)),
                ("heartbeat", self._every(5.0, self._heartbeat)),
                ("compact", self._every(60.0, self._compact)),
            )
        ]
        lanes = [asyncio.create_task(self._run_lane(), name="lane") for _ in range(self._transport.connections)]
        self._watch(duties + lanes)
        try:
            await self._feed.until_stopped()
        finally:
            await self._finish(lanes)
            await call_off(duties)
            await self._farewell()
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """No new claims; what is under way may finish, the rest is given back."""
        self._feed.stop()

    def _watch(self, tasks: list[asyncio.Task[None]]) -> None:
        """A task that fails on a bug of ours stops the worker: a supervisor starts a whole one."""

        def ended(task: asyncio.Task[None]) -> None:
            if not task.cancelled() and (failure := task.exception()) is not None:
                logger.error("worker task failed", task=task.get_name(), exc_info=failure)
                self._failure = self._failure or failure
                self.stop()

        for task in tasks:
            task.add_done_callback(ended)

    async def _finish(self, lanes: list[asyncio.Task[None]]) -> None:
        """Give back what has not begun, let the rest finish within the grace, then record what is known of it."""
        self._feed.stop()
        self._buffer.close()
        await self._empty_buffer()
        _done, late = await asyncio.wait(lanes, timeout=self.settings.grace.total_seconds())
        for lane in late:
            lane.cancel()
        await asyncio.gather(*lanes, return_exceptions=True)
        try:
            async with asyncio.timeout(self.settings.grace.total_seconds()):
                await self._settler.empty.wait()
                # An email whose dot may have left is never given back: its journal says so, and stays.
                await self._held.give_back(self._held.not_dotted())
                await asyncio.gather(*self._errands)
        except TimeoutError:
            logger.error("stopped with outcomes in the journal only", emails=self._settler.backlog)

    async def _farewell(self) -> None:
        try:
            await self._database.run(heartbeats.retire(self.name))
        except StoreUnavailable:
            logger.warning("could not sign off", worker=self.name)
        await self._feed.close()
        await self._transport.close()
        self._journal.close()

    def _idle(self) -> bool:
        return self._swept and not len(self._held) and not self._settler.backlog

    # ---------------------------------------------------------------- send

    async def _run_lane(self) -> None:
        """Send one email after another over one connection at a time."""
        task = asyncio.current_task()
        assert task is not None
        state = self._lanes[task] = _LaneState()
        async with self._transport.connection() as lane:
            while True:
                parcel = state.following or await self._next_parcel()
                state.following = None
                if parcel is None:
                    return
                await self._attempt(lane, state, parcel)

    async def _next_parcel(self) -> Parcel | None:
        """The next email, ready to leave; None when the worker stops."""
        while True:
            email = await self._buffer.next()
            if email is None:
                return None
            parcel = self._pack(email)
            if parcel is None:
                continue
            if email.on_doubt is not OnDoubt.HOLD or await self._held.note_dot(email.claim):
                return parcel

    def _pack(self, email: Claimed) -> Parcel | None:
        """Make an email ready; one that cannot be is settled here, and hurts nobody else."""
        try:
            parcel = pack(email)
        except Exception as error:  # noqa: BLE001  whatever it is, it is about this email alone
            logger.error("email cannot be built", email_id=email.id, error=type(error).__name__)
            self._settler.add(invalid(email, error, now=self._held.now()))
            return None
        if email.expires_at is not None and expired(self._held.now(), email.expires_at):
            self._settler.add(settlement(email, settle_expired(parcel.attempted), doubt=False))
            return None
        return parcel

    def _follower(self) -> Parcel | None:
        """An email to ride behind the present one's dot, if one is waiting that may."""
        email = None if self._feed.stopping.is_set() else self._buffer.take()
        if email is None:
            return None
        if email.on_doubt is OnDoubt.HOLD:
            self._buffer.give_back(email)
            return None
        return self._pack(email)

    async def _attempt(self, lane: Lane, state: _LaneState, parcel: Parcel) -> None:
        following = state.following = self._follower()
        state.since = time.monotonic()
        try:
            report = await lane.deliver(
                parcel.envelope,
                before_dot=partial(self._before_dot, parcel),
                following=following.envelope if following else None,
            )
        except asyncio.CancelledError:
            # Only the end of the grace cancels a lane. If the dot has left, that is what is known of the email.
            if parcel.claim in self._held.dotted:
                self._conclude(parcel, _stopped_waiting())
            raise
        finally:
            state.since = None
        self._conclude(parcel, report)

    def _before_dot(self, parcel: Parcel) -> bool:
        """The last question before an email leaves: is it noted, and is it still ours?

        In this order: were the lease looked at first and the process stopped before the note, somebody who reads the
        journal would take the email for untouched, send it, and ours would follow.
        """
        reach("before_dot")
        claim = parcel.claim
        try:
            self._journal.note_dot(claim)
        except JournalFailed as error:
            self._fail_journal(error)
            return False
        if self._held.has_time_left(claim):
            self._held.dotted.add(claim)
            return True
        self._journal.note_undone(claim)
        return False

    def _conclude(self, parcel: Parcel, report: Report) -> None:
        """Decide what the attempt meant, note it, and hand it on to be committed."""
        reach("reply_read")
        if report.fault is not None and report.fault.kind is FaultKind.ABANDONED:
            # Nothing was sent. If the claim is lost already, giving it back does nothing.
            self._run_errand(self._held.give_back([parcel.claim]))
            return
        settled = accepted(parcel, report)
        if settled is not None:
            self._record(settled, report)
            self.meter.sent(report)
            tell_sent(settled, report)
            self.minder.hear(OK)
            return
        outcome = settle(
            parcel.attempted,
            report,
            now=self._held.now(),
            jitter=random.random(),
            found_out=self.minder.suspects_nothing(),
        )
        self._record(settlement(parcel.claimed, outcome, doubt=left_in_doubt(report)), report)
        self.meter.attempted(outcome, report)
        tell_attempt(parcel.claim.id, outcome, report)
        if outcome.transport is not None:
            self.minder.hear(outcome.transport)

    def _record(self, settled: Settlement, report: Report) -> None:
        """Into the journal first; then it may take its time to reach the database."""
        if report.dot_left:
            self._journal.note_reply(settled)
            reach("journalled")
        self._settler.add(settled)
        self._held.dotted.discard(settled.claim)
        self.attempts += 1

    # ---------------------------------------------------------------- duties

    async def _every(self, seconds: float, duty: Callable[[], Awaitable[None]]) -> None:
        """Do a duty now and then. While the database is away, only try again later."""
        while True:
            try:
                await duty()
            except StoreUnavailable as error:
                logger.warning("the database is away", error=str(error))
                await self._database.refresh()
            await asyncio.sleep(seconds)

    async def _mind(self) -> None:
        self._mind_journal()
        self._unblock_followers()
        await self.minder.look()

    def _mind_journal(self) -> None:
        """A journal that has failed is tried again: somebody may have made room on the disk."""
        if self._journal_failed and self._journal.mend():
            logger.info("the journal can be written again")
            self._journal_failed = False
            self._wake_up.woken.set()

    def _fail_journal(self, error: JournalFailed) -> None:
        if self._journal_failed:
            return
        logger.error("the journal failed: no more emails are claimed", error=str(error))
        self._journal_failed = True
        self._run_errand(self._empty_buffer())

    def _unblock_followers(self) -> None:
        """An email behind a reply that does not come is given to another lane; it was opened there, not sent."""
        now = time.monotonic()
        for state in self._lanes.values():
            if state.following is not None and state.since is not None and now - state.since > SLOW_DOT:
                following, state.following = state.following, None
                self._buffer.give_back(following.claimed)

    async def _recover(self) -> None:
        found = await self._recovery.sweep(keep_sent=self.settings.keep_sent)
        self.meter.took_over(found)
        if found or not self._swept:
            self._swept = True
            self._wake_up.woken.set()

    async def _heartbeat(self) -> None:
        now = time.monotonic()
        since, before = self._beaten
        self._beaten = now, self.attempts
        await self._database.run(
            heartbeats.beat(
                self.name,
                role=self.settings.role,
                broker=self._feed.state(),
                host=socket.gethostname(),
                version=VERSION,
                in_flight=len(self._held),
                rate=(self.attempts - before) / max(now - since, 0.001),
            ),
            atomic=False,
        )

    async def _compact(self) -> None:
        await self._database.run(housekeeping.compact())

    async def _empty_buffer(self) -> None:
        """Give back everything that has not begun."""
        await self._held.give_back([email.claim for email in self._buffer.empty()])

    def _run_errand(self, errand: Coroutine[Any, Any, None]) -> None:
        """Do something soon that the caller cannot wait for; the worker does before it ends."""
        task = asyncio.create_task(errand, name="errand")
        self._errands.add(task)
        task.add_done_callback(self._errands.discard)
        self._watch([task])


@dataclass(slots=True)
class _LaneState:
    """What a lane has in hand beside the email it is sending."""

    following: Parcel | None = None
    since: float | None = None


def _stopped_waiting() -> Report:
    return Report(
        recipients=(),
        fault=Fault(phase=Phase.DOT, kind=FaultKind.CUT, text="the worker was stopped before the reply came"),
        dot_left=True,
    )

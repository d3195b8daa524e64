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
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

from postroom.claim.breaker import WELL
from postroom.claim.buffer import Buffer
from postroom.claim.failpoint import reach
from postroom.claim.journal import Journal, JournalFailed, worker_name
from postroom.claim.lanes import shares
from postroom.claim.parcel import Parcel, invalid, left_in_doubt, pack, settlement
from postroom.claim.rate import parse_rate
from postroom.claim.recovery import Recovery
from postroom.claim.settler import Settler
from postroom.claim.transports import known_transports, learn, reserve_rate, return_rate, take_probe
from postroom.claim.wakeup import wake_up_for
from postroom.errors import StoreUnavailable
from postroom.logs import logger
from postroom.send.contract import Fault, FaultKind, Phase, Report
from postroom.send.smtp.pool import Lane, SmtpTransport
from postroom.settle.classify import classify
from postroom.settle.outcome import expired, settle, settle_expired
from postroom.settle.verdict import OK, Health, TransportVerdict
from postroom.store import claims, heartbeats, housekeeping, questions
from postroom.store.contract import Claim, Claimed
from postroom.store.open import AsyncDatabase
from postroom.vocabulary import OnDoubt, Priority

VERSION = version("postroom")

MOST_BUFFERED = 400
"""Emails claimed ahead: enough to keep sixteen lanes busy while the next batch is claimed."""
DUTY = 1.0
"""Seconds between rounds of the small duties."""
LONGEST_REST = 5.0
"""Seconds an idle worker sleeps at most, for want of a wake-up."""
LOOK_AGAIN = 0.01
"""Seconds between looks for urgent emails while the buffer is well filled."""
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


class Worker:
    """One worker process's work."""

    def __init__(
        self, database: AsyncDatabase, transport: SmtpTransport, settings: WorkerSettings | None = None
    ) -> None:
        self.settings = settings or WorkerSettings()
        self.name = worker_name()
        self.attempts = 0
        self._beaten = time.monotonic(), 0
        self.breaker = WELL
        self._database = database
        self._transport = transport
        self._journal = Journal(self.settings.journals, self.name)
        self._buffer = Buffer()
        self._held: dict[Claim, float] = {}
        """When each lease we hold ends, on the monotonic clock."""
        self._dotted: set[Claim] = set()
        """Whose dot may have left, with no reply yet."""
        self._errands: set[asyncio.Task[None]] = set()
        self._lanes: dict[asyncio.Task[None], _LaneState] = {}
        self._settler = Settler(database, self._journal, keep_sent=self.settings.keep_sent, settled=self._let_go)
        self._settler.busy = lambda: len(self._buffer) > 0
        self._recovery = Recovery(
            database, worker=self.name, lease=self.settings.lease, journals=self.settings.journals
        )
        self._wake_up = wake_up_for(database)
        self._stopping = asyncio.Event()
        self._failure: BaseException | None = None
        self._journal_failed = False
        self._swept = False
        """Emails of dead workers have been looked for: before that, nobody can say that nothing is left to do."""
        self._clock_offset = timedelta(0)
        self._turn = 0
        self._target = 2 * transport.connections
        self._rate = parse_rate(transport.server.rate) if transport.server.rate else None
        self._margin = self.settings.lease.total_seconds() * 0.1

    # ---------------------------------------------------------------- life

    async def run(self) -> None:
        """Work until `stop` is called, or until idle if so told. Nothing is held when this returns."""
        duties = [
            asyncio.create_task(duty, name=name)
            for name, duty in (
                ("settle", self._settler.run()),
                ("wake-up", self._wake_up.run()),
                ("renew", self._every(self.settings.lease.total_seconds() / 3, self._renew)),
                ("recover", self._every(min(2.0, self.settings.lease.total_seconds() / 3), self._recover)),
                ("mind", self._every(DUTY, self._mind_transport)),
                ("journal", self._every(DUTY, self._mind_journal)),
                ("heartbeat", self._every(5.0, self._heartbeat)),
                ("compact", self._every(60.0, self._compact)),
            )
        ]
        lanes = [asyncio.create_task(self._run_lane(), name="lane") for _ in range(self._transport.connections)]
        self._watch(duties + lanes)
        try:
            await self._claim_until_stopped()
        finally:
            await self._finish(lanes)
            for duty in duties:
                duty.cancel()
            await asyncio.gather(*duties, return_exceptions=True)
            await self._farewell()
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """No new claims; what is under way may finish, the rest is given back."""
        self._stopping.set()
        self._wake_up.woken.set()
        self._buffer.low.set()

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
        self._stopping.set()
        self._buffer.close()
        await self._give_back(self._buffer.empty())
        _done, late = await asyncio.wait(lanes, timeout=self.settings.grace.total_seconds())
        for lane in late:
            lane.cancel()
        await asyncio.gather(*lanes, return_exceptions=True)
        try:
            async with asyncio.timeout(self.settings.grace.total_seconds()):
                await self._settler.empty.wait()
                # An email whose dot may have left is never given back: its journal says so, and stays.
                await self._give_back_claims([claim for claim in self._held if claim not in self._dotted])
                await asyncio.gather(*self._errands)
        except TimeoutError:
            logger.error("stopped with outcomes in the journal only", emails=self._settler.backlog)

    async def _farewell(self) -> None:
        try:
            await self._database.run(heartbeats.retire(self.name))
        except StoreUnavailable:
            logger.warning("could not sign off", worker=self.name)
        await self._transport.close()
        self._journal.close()

    async def _every(self, seconds: float, duty: Callable[[], Awaitable[None]]) -> None:
        """Do a duty now and then. While the database is away, only try again later."""
        while True:
            try:
                await duty()
            except StoreUnavailable as error:
                logger.warning("the database is away", error=str(error))
                await self._database.refresh()
            await asyncio.sleep(seconds)

    # ---------------------------------------------------------------- claim

    async def _claim_until_stopped(self) -> None:
        pause = 0.05
        while not self._stopping.is_set():
            try:
                await self._until_wanted()
                claimed = await self._claim()
                pause = 0.05
            except StoreUnavailable as error:
                logger.warning("claiming waits for the database", error=str(error))
                await self._database.refresh()
                await asyncio.sleep(pause)
                pause = min(pause * 2, 1.0)
                continue
            if not claimed and await self._rest():
                return

    async def _until_wanted(self) -> None:
        """Leave a buffer alone that is more than half full, but for a look at what is urgent when we are woken."""
        self._buffer.mark = self._target // 2
        if len(self._buffer) > self._buffer.mark:
            await asyncio.sleep(LOOK_AGAIN)
            await _first_of(self._buffer.low.wait(), self._wake_up.woken.wait(), self._stopping.wait(), seconds=1.0)

    async def _claim(self) -> int:
        """Fill the buffer; how many emails were claimed."""
        self._wake_up.woken.clear()
        self._buffer.low.clear()
        if self._journal_failed or not self.breaker.may_send(self._now()):
            return 0
        room = self._target - len(self._buffer)
        if len(self._buffer) > self._buffer.mark:
            # Well filled, it still takes what is urgent, within limits: that goes to the front.
            wanted = {Priority.URGENT: max(self._transport.connections + min(room, 0), 0)}
        else:
            wanted = shares(room, turn=self._turn)
        seats = sum(wanted.values())
        if self._rate is not None:
            wanted = await self._within_rate(seats)
            seats = sum(wanted.values())
        if not seats or self._settler.backlog > 2 * MOST_BUFFERED:
            return 0
        self._turn += seats
        claimed = await self._take(wanted, room)
        if self._rate is not None and claimed < seats:
            await self._database.run(return_rate(self._transport.name, seats - claimed, self._rate))
        return claimed

    async def _take(self, wanted: dict[Priority, int], room: int) -> int:
        asked = time.monotonic()
        emails = await self._database.run(
            claims.claim(
                worker=self.name,
                lease=self.settings.lease,
                urgent=wanted.get(Priority.URGENT, 0),
                normal=wanted.get(Priority.NORMAL, 0),
                bulk=wanted.get(Priority.BULK, 0),
            ),
            atomic=False,
        )
        if not emails:
            return 0
        reach("claimed")
        self._clock_offset = emails[0].claimed_at - datetime.now(UTC)
        deadline = asked + self.settings.lease.total_seconds()
        for email in emails:
            self._held[email.claim] = deadline
        if room > 0 and len(emails) >= room * 9 // 10 and self._buffer.idle_lanes:
            self._target = min(self.settings.buffer, self._target * 2)
        self._buffer.add(emails)
        return len(emails)

    async def _within_rate(self, seats: int) -> dict[Priority, int]:
        assert self._rate is not None
        granted = await self._database.run(reserve_rate(self._transport.name, seats, self._rate))
        if not granted.granted:
            await asyncio.sleep(min(granted.wait / 1_000_000, 1.0))
        return shares(granted.granted, turn=self._turn)

    async def _rest(self) -> bool:
        """Wait until there may be something to claim. True when the work is done and the worker may stop."""
        if len(self._buffer) > self._buffer.mark:
            return False
        due = await self._database.run(questions.next_due(), writes=False, atomic=False)
        wait = self.settings.poll.total_seconds()
        if due is not None:
            wait = min(wait, max((due - self._now()).total_seconds(), 0.005))
        if self.settings.until_idle and self._idle() and not self._something_due(due):
            return True
        if not self.breaker.may_send(self._now()):
            wait = min(wait, DUTY) if wait > 0.005 else DUTY
        await _first_of(self._wake_up.woken.wait(), self._stopping.wait(), seconds=wait)
        return False

    def _idle(self) -> bool:
        return self._swept and not self._held and not self._settler.backlog

    def _something_due(self, due: datetime | None) -> bool:
        """Whether there is anything this worker could do now; with the way out shut, there is not."""
        if not self.breaker.may_send(self._now()):
            logger.warning("stopping although emails wait", transport=self._transport.name, reason=self.breaker.reason)
            return False
        return due is not None and due <= self._now()

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
            if parcel is not None and await self._may_begin(parcel):
                return parcel

    def _pack(self, email: Claimed) -> Parcel | None:
        """Make an email ready; one that cannot be is settled here, and hurts nobody else."""
        try:
            parcel = pack(email, deadline=self._held.get(email.claim, 0.0))
        except Exception as error:  # noqa: BLE001  whatever it is, it is about this email alone
            logger.error("email cannot be built", email_id=email.id, error=type(error).__name__)
            self._settler.add(invalid(email, error, now=self._now()))
            return None
        if expired(self._now(), email.expires_at):
            self._settler.add(settlement(email, settle_expired(parcel.attempted), doubt=False))
            return None
        return parcel

    async def _may_begin(self, parcel: Parcel) -> bool:
        """Note an email that must never go twice in the database before its conversation starts."""
        if parcel.claimed.on_doubt is not OnDoubt.HOLD:
            return True
        try:
            noted = await self._database.run(claims.note_dots([parcel.claim]), atomic=False)
        except StoreUnavailable:
            noted = set()
        if parcel.claim.id not in noted:
            self._held.pop(parcel.claim, None)  # its lease will run out, and it was not begun
        return parcel.claim.id in noted

    def _follower(self) -> Parcel | None:
        """An email to ride behind the present one's dot, if one is waiting that may."""
        email = self._buffer.take() if not self._stopping.is_set() else None
        if email is None:
            return None
        if email.on_doubt is OnDoubt.HOLD:
            self._buffer.give_back(email)
            return None
        return self._pack(email)

    async def _attempt(self, lane: Lane, state: _LaneState, parcel: Parcel) -> None:
        state.following = self._follower()
        state.since = time.monotonic()
        following = state.following
        try:
            report = await lane.deliver(
                parcel.envelope,
                before_dot=lambda: self._before_dot(parcel),
                following=following.envelope if following else None,
            )
        except asyncio.CancelledError:
            # Only the end of the grace cancels a lane. If the dot has left, that is what is known of the email.
            if parcel.claim in self._dotted:
                self._conclude(parcel, _stopped_waiting())
            if state.following is not None:
                self._held.setdefault(state.following.claim, 0.0)
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
        if self._held.get(claim, 0.0) - time.monotonic() > self._margin:
            self._dotted.add(claim)
            return True
        self._journal.note_undone(claim)
        return False

    def _conclude(self, parcel: Parcel, report: Report) -> None:
        """Decide what the attempt meant, note it, and hand it on to be committed."""
        reach("reply_read")
        if report.fault is not None and report.fault.kind is FaultKind.ABANDONED:
            # Nothing was sent. If the claim is lost already, giving it back does nothing.
            self._run_errand(self._give_back_claims([parcel.claim]))
            return
        now, breaker = self._now(), self.breaker
        found_out = breaker is WELL or (breaker.may_send(now) and not breaker.failures)
        outcome = settle(parcel.attempted, report, now=now, jitter=random.random(), found_out=found_out)
        settled = settlement(parcel.claimed, outcome, doubt=left_in_doubt(report))
        if report.dot_left:
            self._journal.note_reply(settled)
            reach("journalled")
        self._settler.add(settled)
        self._dotted.discard(parcel.claim)
        self.attempts += 1
        if outcome.transport is not None:
            self._hear(outcome.transport)

    # ---------------------------------------------------------------- duties

    def _hear(self, verdict: TransportVerdict) -> None:
        """Heed what an attempt said about the transport, at once here, and soon everywhere."""
        if verdict.health is Health.OK and self.breaker is WELL:
            return
        before = self.breaker
        self.breaker = before.after(verdict, self._now(), random.random())
        if self.breaker != before:
            self._run_errand(self._spread(verdict))

    async def _spread(self, verdict: TransportVerdict) -> None:
        try:
            self.breaker = await self._database.run(learn(self._transport.name, verdict, jitter=random.random()))
        except StoreUnavailable as error:
            logger.warning("could not tell other workers of the transport", error=str(error))
        if not self.breaker.may_send(self._now()):
            logger.warning(
                "transport stopped",
                transport=self._transport.name,
                state=self.breaker.state.value,
                reason=self.breaker.reason,
            )
            await self._give_back(self._buffer.empty())
        self._wake_up.woken.set()

    async def _mind_transport(self) -> None:
        """See what other workers or people did to the transport; look whether it is well again when it is time."""
        for known in await self._database.run(known_transports(), writes=False, atomic=False):
            if known.name == self._transport.name and known.breaker != self.breaker:
                self.breaker = known.breaker
                self._wake_up.woken.set()
        if self.breaker.should_probe(self._now()):
            await self._probe()
        self._unblock_followers()

    async def _probe(self) -> None:
        if not await self._database.run(take_probe(self._transport.name, jitter=random.random())):
            return
        verdict = _probed(await self._transport.probe())
        plan = learn(self._transport.name, verdict, jitter=random.random(), probe=True)
        self.breaker = await self._database.run(plan)
        logger.info("transport probed", transport=self._transport.name, state=self.breaker.state.value)
        self._wake_up.woken.set()

    def _unblock_followers(self) -> None:
        """An email behind a reply that does not come is given to another lane; it was opened there, not sent."""
        now = time.monotonic()
        for state in self._lanes.values():
            if state.following is not None and state.since is not None and now - state.since > SLOW_DOT:
                following, state.following = state.following, None
                self._buffer.give_back(following.claimed)

    async def _renew(self) -> None:
        """Lengthen every lease we hold; forget those that somebody has taken over."""
        if not self._held:
            return
        mine, asked = list(self._held), time.monotonic()
        renewed = await self._database.run(claims.renew(mine, lease=self.settings.lease), atomic=False)
        deadline = asked + self.settings.lease.total_seconds()
        # We may hold an email twice: a claim that was taken from us, and a newer one. Only the newest was renewed.
        newest = {claim.id: claim for claim in sorted(mine, key=lambda claim: claim.token)}
        for claim in mine:
            if claim not in self._held:
                continue
            if claim.id in renewed and newest[claim.id] == claim:
                self._held[claim] = deadline
            elif claim not in self._dotted:
                del self._held[claim]

    async def _recover(self) -> None:
        found = await self._recovery.sweep(keep_sent=self.settings.keep_sent)
        if found or not self._swept:
            self._swept = True
            self._wake_up.woken.set()

    async def _heartbeat(self) -> None:
        now = time.monotonic()
        since, sent = self._beaten
        self._beaten = now, self.attempts
        await self._database.run(
            heartbeats.beat(
                self.name,
                host=socket.gethostname(),
                version=VERSION,
                in_flight=len(self._held),
                rate=(self.attempts - sent) / max(now - since, 0.001),
            ),
            atomic=False,
        )

    async def _compact(self) -> None:
        await self._database.run(housekeeping.compact())

    async def _give_back(self, emails: list[Claimed]) -> None:
        await self._give_back_claims([email.claim for email in emails])

    async def _give_back_claims(self, mine: list[Claim]) -> None:
        if not mine:
            return
        try:
            await self._database.run(claims.release(mine), atomic=False)
        except StoreUnavailable as error:
            logger.warning("leases will run out instead of being given back", emails=len(mine), error=str(error))
        for claim in mine:
            self._held.pop(claim, None)

    def _let_go(self, claim: Claim) -> None:
        self._held.pop(claim, None)

    def _fail_journal(self, error: JournalFailed) -> None:
        if self._journal_failed:
            return
        logger.error("the journal failed: no more emails are claimed", error=str(error))
        self._journal_failed = True
        self._run_errand(self._give_back(self._buffer.empty()))

    async def _mind_journal(self) -> None:
        """A journal that has failed is tried again: somebody may have made room on the disk."""
        if self._journal_failed and self._journal.mend():
            logger.info("the journal can be written again")
            self._journal_failed = False
            self._wake_up.woken.set()

    def _run_errand(self, errand: Coroutine[Any, Any, None]) -> None:
        """Do something soon that the caller cannot wait for; the worker does before it ends."""
        task = asyncio.create_task(errand)
        self._errands.add(task)
        task.add_done_callback(self._errands.discard)
        self._watch([task])

    def _now(self) -> datetime:
        """The database's time, as far as we know it."""
        return datetime.now(UTC) + self._clock_offset


@dataclass(slots=True)
class _LaneState:
    """What a lane has in hand beside the email it is sending."""

    following: Parcel | None = None
    since: float | None = None


def _probed(report: Report) -> TransportVerdict | None:
    """What a probe says about the transport."""
    if report.fault is None and (report.reply is None or report.reply.code < 400):
        return OK
    return classify(report).transport


def _stopped_waiting() -> Report:
    return Report(
        recipients=(),
        fault=Fault(phase=Phase.DOT, kind=FaultKind.CUT, text="the worker was stopped before the reply came"),
        dot_left=True,
    )


async def _first_of(*waits: Awaitable[object], seconds: float | None = None) -> None:
    """Wait for the first of several, or for so long."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()

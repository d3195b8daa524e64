"""The way of an email from the buffer to the mail server, and of the reply to the journal and the settler.

Each line is a connection that takes one email after another. What holds at every moment: a dot leaves only after the
journal has noted it and while the lease has time left, and whatever came of it is in the journal before anything else
happens.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any

from postroom.claim.buffer import Buffer
from postroom.claim.failpoint import reach
from postroom.claim.feed import call_off
from postroom.claim.leases import Holdings
from postroom.claim.meter import Meter
from postroom.errors import StoreUnavailable
from postroom.logs import logger
from postroom.send.contract import Fault, FaultKind, Phase, Report
from postroom.send.smtp.pool import Line, SmtpTransport
from postroom.settle.outcome import expired, settle, settle_expired
from postroom.settle.verdict import OK
from postroom.store.contract import Claimed, Settlement
from postroom.vocabulary import OnDoubt
from postroom.work.acceptance import accepted
from postroom.work.journal import Journal, JournalFailed
from postroom.work.loading import AWAY, Loading
from postroom.work.lost_commits import came_back
from postroom.work.minder import TransportMinder
from postroom.work.parcel import Parcel, invalid, left_in_doubt, pack, settlement
from postroom.work.settler import Settler
from postroom.work.telling import tell_attempt, tell_sent

SLOW_DOT = 2.0
"""Seconds after which an email waiting behind a slow reply is given to another line."""


class Attempts:
    """What a worker's lines share."""

    def __init__(
        self,
        transport: SmtpTransport,
        *,
        buffer: Buffer,
        holdings: Holdings,
        journal: Journal,
        settler: Settler,
        minder: TransportMinder,
        meter: Meter,
        loading: Loading,
        limit: float,
        soon: Callable[[Coroutine[Any, Any, None]], None],
    ) -> None:
        """`limit`: seconds for an email whose sender waits for it, until its dot. `soon` runs an errand."""
        self.made = 0
        """How many attempts have come to an end."""
        self.concluded: Callable[[Settlement], None] = _nobody_asks
        """Told what came of an email, before the database knows."""
        self.closing = False
        """What is under way may finish; no more is begun."""
        self.journal_failed = False
        self._transport = transport
        self._buffer = buffer
        self._held = holdings
        self._journal = journal
        self._settler = settler
        self._minder = minder
        self._meter = meter
        self._loading = loading
        self._limit = limit
        self._soon = soon
        self._lines: list[_LineState] = []

    async def run_line(self) -> None:
        """Send one email after another over one connection at a time."""
        state = _LineState()
        self._lines.append(state)
        async with self._transport.connection() as line:
            while await self._serve(line, state):
                pass

    async def _serve(self, line: Line, state: _LineState) -> bool:
        """Send the next email; False when the worker stops. A call of its own: nothing of a sent email stays behind."""
        parcel = state.following or await self._next_parcel()
        state.following = None
        if parcel is None:
            return False
        try:
            await self._attempt(line, state, parcel)
        finally:
            self._buffer.done(parcel.claimed)
        return True

    async def _next_parcel(self) -> Parcel | None:
        """The next email, ready to leave; None when the worker stops."""
        while True:
            email = await self._buffer.next()
            if email is None:
                return None
            parcel = await self._load(email) if email.unloaded else self._pack(email)
            if parcel is not None and (email.on_doubt is not OnDoubt.HOLD or await self._held.note_dot(email.claim)):
                return parcel
            del parcel
            self._buffer.done(email)

    def _pack(self, email: Claimed) -> Parcel | None:
        """Make an email ready; one that cannot be is settled here, and hurts nobody else."""
        if self._was_accepted(email):
            return None
        try:
            parcel = pack(email)
        except Exception as error:  # noqa: BLE001  whatever it is, it is about this email alone
            self._refuse(email, error)
            return None
        return self._unless_expired(parcel)

    async def _load(self, email: Claimed) -> Parcel | None:
        """The same for a large email; while the database is away, it waits, and so do all large ones."""
        if self._was_accepted(email):
            return None
        try:
            parcel = await self._loading.pack(email)
        except StoreUnavailable as error:
            logger.warning("a large email waits for the database", email_id=email.id, error=str(error))
            self._buffer.postpone(email, AWAY)
            return None
        except Exception as error:  # noqa: BLE001  as above
            self._refuse(email, error)
            return None
        return self._unless_expired(parcel)

    def _was_accepted(self, email: Claimed) -> bool:
        """Whether the journal knows of an acceptance that the database has forgotten: then it is settled here."""
        known = self._journal.accepted(email.id)
        if known is None or (settled := came_back(email, known)) is None:
            return False
        self._conclude_unattempted(settled)
        return True

    def _refuse(self, email: Claimed, error: Exception) -> None:
        logger.error("email cannot be built", email_id=email.id, error=type(error).__name__)
        self._conclude_unattempted(invalid(email, error))

    def _unless_expired(self, parcel: Parcel) -> Parcel | None:
        email = parcel.claimed
        if email.expires_at is not None and expired(self._held.now_for(email), email.expires_at):
            self._conclude_unattempted(settlement(email, settle_expired(parcel.attempted), doubt=False))
            return None
        return parcel

    def _conclude_unattempted(self, settled: Settlement) -> None:
        """Nothing was attempted, and nothing will be."""
        self.concluded(settled)
        self._settler.add(settled)

    def _follower(self) -> Parcel | None:
        """An email to ride behind the present one's dot, if one is waiting that may."""
        email = None if self.closing else self._buffer.take(large=False)
        if email is None:
            return None
        if email.on_doubt is OnDoubt.HOLD:
            self._buffer.give_back(email)
            return None
        return self._pack(email)

    async def _attempt(self, line: Line, state: _LineState, parcel: Parcel) -> None:
        following = state.following = self._follower()
        state.since = time.monotonic()
        delivery = line.deliver(
            parcel.envelope,
            before_dot=partial(self._before_dot, parcel),
            following=following.envelope if following else None,
        )
        try:
            report = await (self._within_limit(parcel, delivery) if parcel.inline else delivery)
        except asyncio.CancelledError:
            # Only the end of the grace cancels a line. If the dot has left, that is what is known of the email.
            if parcel.claim in self._held.dotted:
                self._conclude(parcel, _stopped_waiting())
            raise
        finally:
            state.since = None
        self._conclude(parcel, report)

    async def _within_limit(self, parcel: Parcel, delivery: Coroutine[Any, Any, Report]) -> Report:
        """Somebody waits for this one: given up if it has not come to its dot in time, and brought to its end if so."""
        task = asyncio.ensure_future(delivery)
        try:
            await asyncio.wait({task}, timeout=self._limit)
            if task.done() or parcel.claim in self._held.dotted:
                return await task
        except asyncio.CancelledError:
            await call_off([task])
            raise
        await call_off([task])  # before the dot nothing was sent
        return _out_of_time(parcel)

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
            self._soon(self._held.give_back([parcel.claim]))
            return
        settled = accepted(parcel, report)
        if settled is not None:
            self._record(parcel, settled, report)
            self._meter.sent(report)
            tell_sent(settled, report)
            self._minder.hear(OK)
            return
        outcome = settle(
            parcel.attempted,
            report,
            now=self._held.now_for(parcel.claimed),
            jitter=random.random(),
            found_out=self._minder.suspects_nothing(),
        )
        self._record(parcel, settlement(parcel.claimed, outcome, doubt=left_in_doubt(report)), report)
        self._meter.attempted(outcome, report)
        tell_attempt(parcel.claim.id, outcome, report)
        if outcome.transport is not None:
            self._minder.hear(outcome.transport)

    def _record(self, parcel: Parcel, settled: Settlement, report: Report) -> None:
        """Into the journal first; then it may take its time to reach the database."""
        if report.dot_left:
            self._journal.note_reply(settled, parcel.claimed.version)
            reach("journalled")
        elif settled.claim in self._held.dotted:
            self._journal.note_undone(settled.claim)  # it was noted, and did not leave after all
        self.concluded(settled)
        self._held.dotted.discard(settled.claim)
        if parcel.leaves_no_trace(settled):
            self._journal.forget(settled.claim)
            self._held.let_go(settled.claim)
        else:
            self._settler.add(settled)
        self.made += 1

    # ---------------------------------------------------------------- in trouble

    async def empty_buffer(self) -> None:
        """Give back everything that has not begun."""
        await self._held.give_back([email.claim for email in self._buffer.empty()])

    def mend_journal(self) -> bool:
        """Try a journal again that has failed, for somebody may have made room on the disk; whether it is well now."""
        if not self.journal_failed or not self._journal.mend():
            return False
        logger.info("the journal can be written again")
        self.journal_failed = False
        return True

    def _fail_journal(self, error: JournalFailed) -> None:
        if self.journal_failed:
            return
        logger.error("the journal failed: no more emails are claimed", error=str(error))
        self.journal_failed = True
        self._soon(self.empty_buffer())

    def unblock_followers(self) -> None:
        """An email behind a reply that does not come is given to another line; it was opened there, not sent."""
        now = time.monotonic()
        for state in self._lines:
            if state.following is not None and state.since is not None and now - state.since > SLOW_DOT:
                following, state.following = state.following, None
                self._buffer.give_back(following.claimed)


@dataclass(slots=True)
class _LineState:
    """What a line has in hand beside the email it is sending."""

    following: Parcel | None = None
    since: float | None = None


def _nobody_asks(settled: Settlement) -> None:
    """Most emails are waited for by nobody."""


def _out_of_time(parcel: Parcel) -> Report:
    """Which word of the server's we waited for is not known here; that it did not come in time is what matters."""
    text = "the server was not ready for the email within the time for inline sends"
    return Report(
        recipients=(None,) * len(parcel.envelope.recipients),
        fault=Fault(phase=Phase.CONNECT, kind=FaultKind.TIMEOUT, text=text),
    )


def _stopped_waiting() -> Report:
    return Report(
        recipients=(),
        fault=Fault(phase=Phase.DOT, kind=FaultKind.CUT, text="the worker was stopped before the reply came"),
        dot_left=True,
    )

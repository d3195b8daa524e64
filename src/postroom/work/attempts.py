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
from postroom.logs import logger
from postroom.send.contract import Fault, FaultKind, Phase, Report
from postroom.send.smtp.pool import Line, SmtpTransport
from postroom.settle.outcome import settle
from postroom.settle.verdict import OK
from postroom.store.contract import Settlement
from postroom.work.acceptance import accepted
from postroom.work.journal import Journal, JournalFailed
from postroom.work.loading import Loading
from postroom.work.minder import TransportMinder
from postroom.work.packing import Packing
from postroom.work.parcel import Parcel, left_in_doubt, settlement
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
        self._packing = Packing(
            buffer=buffer, holdings=holdings, journal=journal, loading=loading, settled=self._hand_on
        )
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
        parcel = state.following or await self._packing.next()
        state.following = None
        if parcel is None:
            return False
        try:
            await self._attempt(line, state, parcel)
        finally:
            self._buffer.done(parcel.claimed)
        return True

    async def _attempt(self, line: Line, state: _LineState, parcel: Parcel) -> None:
        following = state.following = None if self.closing else self._packing.follower()
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

    def _hand_on(self, settled: Settlement) -> None:
        """Tell what came of an email, and have it committed."""
        self.concluded(settled)
        self._settler.add(settled)

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

"""The way of an email from the buffer of its route to the other end, and of the reply to the records.

Each line is a connection that takes one email after another. What is written down, and when, is the business of
`records.py`.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from postroom.claim.buffer import Buffer
from postroom.claim.failpoint import reach
from postroom.claim.feed import call_off
from postroom.claim.meter import Meter
from postroom.claim.route import Route
from postroom.send.contract import Fault, FaultKind, Line, Phase, Report
from postroom.settle.classification import Classify
from postroom.settle.outcome import settle
from postroom.settle.smtp.senders import of_a_sender
from postroom.settle.verdict import OK, Health
from postroom.store.contract import Claimed
from postroom.vocabulary import Priority
from postroom.work.acceptance import accepted
from postroom.work.breaker import DEFAULT_LIMITS
from postroom.work.clearance import Clearance
from postroom.work.loading import Loading
from postroom.work.minder import RouteMinder
from postroom.work.packing import Packing
from postroom.work.parcel import Parcel, left_in_doubt, settlement
from postroom.work.records import Records
from postroom.work.telling import tell_attempt, tell_sent

SLOW_DOT = 2.0
"""Seconds after which an email waiting behind a slow reply is given to another line."""
SCOUTS = DEFAULT_LIMITS.failures
"""Lines that begin at once: as many as it takes failures to know that the other end is down."""
SLOW_SCOUT = 1.0
"""Seconds after which the other lines follow although no scout is back: a server may be slow, and well."""


class Attempts:
    """The lines of one route, and what waits for them.

    A few lines go ahead, and the others follow once the other end has shown that it is there. So a server that is down
    when a worker begins is found out by a handful of emails, and not by as many as there are lines.
    """

    def __init__(
        self,
        route: Route,
        *,
        buffer: Buffer,
        minder: RouteMinder,
        records: Records,
        clearance: Clearance,
        loading: Loading,
        meter: Meter,
        limit: float,
        soon: Callable[[Coroutine[Any, Any, None]], None],
    ) -> None:
        """`limit`: seconds for an email whose sender waits for it, until its dot. `soon` runs an errand."""
        self.route = route
        self.buffer = buffer
        self.minder = minder
        self.closing = False
        """What is under way may finish; no more is begun."""
        self._records = records
        self._clearance = clearance
        self._held = records.held
        self._meter = meter
        meter.serves(route.name, route.channel.name)
        self._packing = Packing(route.channel, buffer=buffer, records=records, loading=loading)
        self._limit = limit
        self._soon = soon
        self._lines: list[_LineState] = []
        self._all_begin = asyncio.Event()
        """The other end is there, for all we know: no line waits any longer for the scouts."""

    async def run_line(self) -> None:
        """Send one email after another over one connection at a time."""
        state = _LineState()
        self._lines.append(state)
        if len(self._lines) > SCOUTS:
            await self._all_begin.wait()
        async with self.route.transport.connection() as line:
            while await self._serve(line, state):
                pass

    def close(self) -> None:
        """Nothing more will come: the lines end, each after what it has in hand."""
        self.buffer.close()
        self._all_begin.set()

    async def _serve(self, line: Line, state: _LineState) -> bool:
        """Send the next email; False when the worker stops. A call of its own: nothing of a sent email stays behind."""
        parcel = state.following or await self._packing.next(warm=state.warm)
        state.following, state.warm = None, True
        if parcel is None:
            return False
        try:
            if self.minder.may_send():
                await self._attempt(line, state, parcel)
            else:  # the route was stopped while this one was made ready
                await self._held.give_back([parcel.claim])
        finally:
            self.buffer.done(parcel.claimed)
        return True

    async def _attempt(self, line: Line, state: _LineState, parcel: Parcel) -> None:
        following = state.following = None if self.closing else self._packing.follower()
        state.since = time.monotonic()
        delivery = line.deliver(
            parcel.payload,
            before_dot=self._clearance.question(parcel),
            following=following.payload if following else None,
        )
        try:
            report = await (self._within_limit(parcel, delivery) if parcel.claimed.inline else delivery)
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

    def _conclude(self, parcel: Parcel, report: Report) -> None:
        """Decide what the attempt meant, note it, and hand it on to be committed."""
        reach("reply_read")
        if report.fault is not None and report.fault.kind is FaultKind.ABANDONED:
            self._soon(self._clearance.set_aside(parcel))  # nothing was sent
            return
        settled = accepted(parcel, report)
        if settled is not None:
            self._records.keep(parcel, settled, report)
            self._meter.sent(self.route.name, report)
            tell_sent(settled, report)
            self._all_begin.set()
            self.minder.hear(OK)
            return
        outcome = settle(
            parcel.attempted,
            report,
            classify=self._classify(parcel),
            now=self._held.now_for(parcel.claimed),
            jitter=random.random(),
            found_out=self.minder.suspects_nothing(),
        )
        self._records.keep(parcel, settlement(parcel.claimed, outcome, doubt=left_in_doubt(report)), report)
        self._meter.attempted(self.route.name, outcome, report)
        tell_attempt(parcel.claim.id, outcome, report)
        if outcome.transport is None or outcome.transport.health is Health.OK:
            self._all_begin.set()
        if outcome.transport is not None:
            self.minder.hear(outcome.transport)

    def _classify(self, parcel: Parcel) -> Classify:
        """Mail of campaigns has senders of its own, beside others on the same route."""
        classify = self.route.channel.classify
        return of_a_sender(classify) if parcel.claimed.priority is Priority.CAMPAIGN else classify

    # ---------------------------------------------------------------- in trouble

    def empty_buffer(self) -> Coroutine[Any, Any, None]:
        """Begin none of what is in hand, from this moment on; to be awaited, for then it is given back."""
        unbegun = [*self.buffer.empty(), *(email for state in self._lines for email in state.unload())]
        return self._held.give_back([email.claim for email in unbegun])

    def look_after_lines(self) -> None:
        """Nobody is to wait for long behind a reply that does not come."""
        now = time.monotonic()
        for state in self._lines:
            waited = now - state.since if state.since is not None else 0.0
            if waited > SLOW_SCOUT:
                self._all_begin.set()
            if waited > SLOW_DOT:
                for email in state.unload():
                    self.buffer.give_back(email)


@dataclass(slots=True)
class _LineState:
    """What a line has in hand beside the email it is sending."""

    following: Parcel | None = None
    since: float | None = None
    warm: bool = False
    """It has been in use, and so has a connection, if all went well."""

    def unload(self) -> list[Claimed]:
        """Take away what was to follow, if anything: it may have been opened, but not sent."""
        following, self.following = self.following, None
        return [following.claimed] if following else []


def _out_of_time(parcel: Parcel) -> Report:
    """Which word of the server's we waited for is not known here; that it did not come in time is what matters."""
    text = "the server was not ready for the email within the time for inline sends"
    return Report(
        recipients=(None,) * len(parcel.payload.recipients),
        fault=Fault(phase=Phase.CONNECT, kind=FaultKind.TIMEOUT, text=text),
    )


def _stopped_waiting() -> Report:
    return Report(
        recipients=(),
        fault=Fault(phase=Phase.DOT, kind=FaultKind.CUT, text="the worker was stopped before the reply came"),
        dot_left=True,
    )

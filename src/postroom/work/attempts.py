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
from functools import partial
from typing import Any

from postroom.claim.buffer import Buffer
from postroom.claim.failpoint import reach
from postroom.claim.feed import call_off
from postroom.claim.meter import Meter
from postroom.claim.route import Route
from postroom.send.contract import Fault, FaultKind, Line, Phase, Report
from postroom.settle.outcome import settle
from postroom.settle.verdict import OK
from postroom.work.acceptance import accepted
from postroom.work.loading import Loading
from postroom.work.minder import RouteMinder
from postroom.work.packing import Packing
from postroom.work.parcel import Parcel, left_in_doubt, settlement
from postroom.work.records import Records
from postroom.work.telling import tell_attempt, tell_sent

SLOW_DOT = 2.0
"""Seconds after which an email waiting behind a slow reply is given to another line."""


class Attempts:
    """The lines of one route, and what waits for them."""

    def __init__(
        self,
        route: Route,
        *,
        buffer: Buffer,
        minder: RouteMinder,
        records: Records,
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
        self._held = records.held
        self._meter = meter
        meter.serves(route.name, route.channel.name)
        self._packing = Packing(route.channel, buffer=buffer, records=records, loading=loading)
        self._limit = limit
        self._soon = soon
        self._lines: list[_LineState] = []

    async def run_line(self) -> None:
        """Send one email after another over one connection at a time."""
        state = _LineState()
        self._lines.append(state)
        async with self.route.transport.connection() as line:
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
            self.buffer.done(parcel.claimed)
        return True

    async def _attempt(self, line: Line, state: _LineState, parcel: Parcel) -> None:
        following = state.following = None if self.closing else self._packing.follower()
        state.since = time.monotonic()
        delivery = line.deliver(
            parcel.payload,
            before_dot=partial(self._records.may_leave, parcel.claim),
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
            # Nothing was sent. If the claim is lost already, giving it back does nothing.
            self._soon(self._held.give_back([parcel.claim]))
            return
        settled = accepted(parcel, report)
        if settled is not None:
            self._records.keep(parcel, settled, report)
            self._meter.sent(self.route.name, report)
            tell_sent(settled, report)
            self.minder.hear(OK)
            return
        outcome = settle(
            parcel.attempted,
            report,
            classify=self.route.channel.classify,
            now=self._held.now_for(parcel.claimed),
            jitter=random.random(),
            found_out=self.minder.suspects_nothing(),
        )
        self._records.keep(parcel, settlement(parcel.claimed, outcome, doubt=left_in_doubt(report)), report)
        self._meter.attempted(self.route.name, outcome, report)
        tell_attempt(parcel.claim.id, outcome, report)
        if outcome.transport is not None:
            self.minder.hear(outcome.transport)

    # ---------------------------------------------------------------- in trouble

    async def empty_buffer(self) -> None:
        """Give back everything that has not begun."""
        await self._held.give_back([email.claim for email in self.buffer.empty()])

    def unblock_followers(self) -> None:
        """An email behind a reply that does not come is given to another line; it was opened there, not sent."""
        now = time.monotonic()
        for state in self._lines:
            if state.following is not None and state.since is not None and now - state.since > SLOW_DOT:
                following, state.following = state.following, None
                self.buffer.give_back(following.claimed)


@dataclass(slots=True)
class _LineState:
    """What a line has in hand beside the email it is sending."""

    following: Parcel | None = None
    since: float | None = None


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

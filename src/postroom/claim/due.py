"""Keeps the buffer filled: with what the lines can use soon, within the transport's rate, urgent things first."""

from __future__ import annotations

import asyncio
import time
from datetime import datetime

from postroom.claim.allowance import Allowance
from postroom.claim.failpoint import reach
from postroom.claim.feed import Workbench, first_of
from postroom.claim.lanes import Shares, shares
from postroom.claim.room import whole_up_to
from postroom.errors import StoreUnavailable
from postroom.logs import logger
from postroom.store import claims, questions
from postroom.vocabulary import Priority

LOOK_AGAIN = 0.01
"""Seconds between looks for urgent emails while the buffer is well filled."""
AHEAD = 0.2
"""Seconds' worth of emails to have claimed ahead."""
PACE = 0.05
"""Seconds over which the pace of the lines is taken."""
AT_ONCE = 0.005
"""Seconds to wait for what is due already, and was not to be had: another worker has it."""
SOON = 0.05
"""Seconds between looks whether all is done, for a worker that is to stop then, or whether a lane is open again."""
SHUT = 1.0
"""Seconds between looks while the transport may not be used."""
FIRST_PAUSE, LAST_PAUSE = 0.05, 1.0


class Claimer:
    """Claims emails into a buffer until stopped, or until there is nothing left to do."""

    def __init__(self, bench: Workbench) -> None:
        self.stopping = asyncio.Event()
        self._bench = bench
        self._database = bench.database
        self._buffer = bench.buffer
        self._holdings = bench.holdings
        self._gate = bench.gate
        self._wake_up = bench.wake_up
        self._allowance = Allowance(bench.database, bench.transport)
        self._turn = 0
        self._least = min(bench.most, 2 * bench.transport.connections)
        self._target = self._least
        self._paced = time.monotonic(), 0
        """When the pace was last taken, and how many emails had left the buffer by then."""

    async def until_stopped(self) -> None:
        """Claim, rest, claim. While the database is away, try again a little later each time."""
        pause = FIRST_PAUSE
        while not self.stopping.is_set():
            try:
                await self._until_wanted()
                claimed = await self._claim()
                pause = FIRST_PAUSE
                if not claimed and await self._rest():
                    return
            except StoreUnavailable as error:
                logger.warning("claiming waits for the database", error=str(error))
                await self._database.refresh()
                await asyncio.sleep(pause)
                pause = min(pause * 2, LAST_PAUSE)

    def stop(self) -> None:
        self.stopping.set()
        self._wake_up.woken.set()
        self._buffer.low.set()

    def state(self) -> None:
        """Emails come from the database."""

    async def close(self) -> None:
        """It holds nothing of its own."""

    def _keep_pace(self) -> None:
        """Aim for what the lines use up in a moment: a fast server gets large batches, a slow one holds few leases."""
        now, (since, taken) = time.monotonic(), self._paced
        if now - since < PACE:
            return
        self._paced = now, self._buffer.taken
        pace = (self._buffer.taken - taken) / (now - since)
        self._target = min(self._bench.most, max(self._least, int(pace * AHEAD)))

    async def _until_wanted(self) -> None:
        """Leave a buffer alone that is more than half full, but for a look at what is urgent when we are woken."""
        self._keep_pace()
        self._buffer.mark = self._target // 2
        if len(self._buffer) > self._buffer.mark:
            await asyncio.sleep(LOOK_AGAIN)
            await first_of(self._buffer.low.wait(), self._wake_up.woken.wait(), self.stopping.wait(), seconds=1.0)

    async def _claim(self) -> int:
        """Fill the buffer; how many emails were claimed."""
        self._wake_up.woken.clear()
        self._buffer.low.clear()
        if not self._gate.may_send() or not self._bench.ready():
            return 0
        wanted = self._wanted()
        seats = sum(wanted.values())
        granted = await self._allowance.grant(seats)
        if not granted:
            return 0
        if granted < seats:
            wanted = shares(granted, wanted, turn=self._turn)
        self._turn += granted
        claimed = await self._take(wanted)
        await self._allowance.give_back(granted - claimed)
        return claimed

    def _wanted(self) -> Shares:
        room = self._target - len(self._buffer)
        if len(self._buffer) > self._buffer.mark:
            # Well filled, it still takes what is urgent, within limits: that goes to the front.
            return {Priority.URGENT: max(self._bench.transport.connections + min(room, 0), 0)}
        return shares(room, dict.fromkeys(Priority, room) | dict.fromkeys(self._closed(), 0), turn=self._turn)

    def _closed(self) -> list[Priority]:
        """Lanes with enough large emails waiting for room: more would only be kept from other workers."""
        return [lane for lane in Priority if self._buffer.aside(lane) >= self._least]

    async def _take(self, wanted: Shares) -> int:
        asked = time.monotonic()
        plan = claims.claim(
            worker=self._bench.worker,
            lease=self._bench.lease,
            urgent=wanted.get(Priority.URGENT, 0),
            normal=wanted.get(Priority.NORMAL, 0),
            bulk=wanted.get(Priority.BULK, 0),
            closed=self._closed(),
            whole=whole_up_to(self._target),
        )
        emails = await self._database.run(plan, atomic=False)
        self._bench.meter.claimed(emails, time.monotonic() - asked)
        if not emails:
            return 0
        reach("claimed")
        self._holdings.add(emails, asked=asked)
        self._buffer.add(emails)
        return len(emails)

    async def _rest(self) -> bool:
        """Wait until there may be something to claim. True when the work is done and the worker may stop."""
        if len(self._buffer) > self._buffer.mark:
            return False
        idle = self._bench.idle()  # before the question: what was in hand then may be due by the time of the answer
        due = await self._database.run(questions.next_due(), writes=False, atomic=False)
        if self._bench.until_idle and idle and not self._something_due(due):
            return True
        await first_of(self._wake_up.woken.wait(), self.stopping.wait(), seconds=self._pause_until(due))
        return False

    def _pause_until(self, due: datetime | None) -> float:
        wait = self._bench.poll.total_seconds()
        if due is not None:
            wait = min(wait, max((due - self._bench.clock.now()).total_seconds(), AT_ONCE))
        if self._closed():
            wait = max(wait, SOON)  # what is due may be in one of them, and enough of that is here
        if self._bench.until_idle:
            wait = min(wait, SOON)  # what is under way may be all there is
        if self._gate.may_send():
            return wait
        return SHUT if wait <= AT_ONCE else min(wait, SHUT)

    def _something_due(self, due: datetime | None) -> bool:
        """Whether there is anything this worker could do now; with the way out shut, there is not."""
        if not self._gate.may_send():
            reason = self._gate.reason
            logger.warning("stopping although emails wait", transport=self._bench.transport.name, reason=reason)
            return False
        return due is not None and due <= self._bench.clock.now()

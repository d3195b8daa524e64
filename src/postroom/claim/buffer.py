"""The emails a worker has claimed and not yet begun, and the lines that wait for them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Collection, Iterable

from postroom.claim.lanes import ROUND
from postroom.claim.room import Room
from postroom.store.contract import Claim, Claimed
from postroom.vocabulary import Priority

_ORDERS = tuple((dealt, *(lane for lane in Priority if lane is not dealt)) for dealt in ROUND)
"""Where to look for the next email: in the lane whose turn it is, then from urgent to bulk."""


class Buffer:
    """Every lane in its turn (see `lanes.py`), else urgent before normal before bulk; oldest first within each.

    A claimer that is quicker than the lines keeps urgent emails in hand all the time; a bulk one leaves all the same.

    A line that finds nothing waits; the line that began to wait last is served first, because its connection is warm.
    Those that have none yet come after all that have.

    A large email is handed out only when there is room for it, and has it until it is `done`. Without, it stands aside,
    and lets the small ones pass; no later large one gets in before it, unless it is more urgent.
    """

    def __init__(self, room: Room | None = None) -> None:
        """`room`, where several buffers share one."""
        self._waiting: tuple[deque[Claimed], ...] = tuple(deque() for _ in Priority)
        self._aside: tuple[deque[Claimed], ...] = tuple(deque() for _ in Priority)
        self._room = room or Room()
        self._room.freed.append(lambda: self.add(()))
        self._idle: list[asyncio.Future[Claimed | None]] = []
        self._closed = False
        self._count = 0
        self.taken = 0
        """How many emails have left it."""
        self.mark = 0
        """At so many, or fewer, the buffer is low."""
        self.low = asyncio.Event()
        """Set when the buffer has run low; the claimer clears it."""

    def __len__(self) -> int:
        """How many wait to be taken; those that stand aside are not among them."""
        return self._count

    def aside(self, lane: Priority) -> int:
        """How many large emails of a lane wait for room."""
        return len(self._aside[lane])

    def add(self, emails: Iterable[Claimed]) -> None:
        """Put emails in their lanes, and give them to whoever waits."""
        for email in emails:
            self._waiting[email.priority].append(email)
            self._count += 1
        while self._idle:
            waiter = self._idle[-1]
            if waiter.done():
                self._idle.pop()
                continue
            email_or_none = self.take()
            if email_or_none is None:
                return
            self._idle.pop().set_result(email_or_none)

    def give_back(self, email: Claimed) -> None:
        """Put an email back first in its lane: somebody took it and could not begin."""
        self._waiting[email.priority].appendleft(email)
        self._count += 1
        self.add(())

    def take(self, *, large: bool = True) -> Claimed | None:
        """The next email, if there is one; a large one only if it may be one."""
        if self._count - 1 <= self.mark:
            self.low.set()
        for lane in _ORDERS[self.taken % len(_ORDERS)]:
            email = self._take_from(lane, large=large)
            if email is not None:
                self.taken += 1
                return email
        return None

    def _take_from(self, lane: Priority, *, large: bool) -> Claimed | None:
        waiting, aside = self._waiting[lane], self._aside[lane]
        if not waiting and not aside:
            return None
        large = large and not any(self._aside[:lane])
        if aside and large:
            large = self._room.enter(aside[0])
            if large:
                return aside.popleft()
        while waiting:
            email = waiting.popleft()
            self._count -= 1
            if not email.unloaded or (large and self._room.enter(email)):
                return email
            large = False
            aside.append(email)
        return None

    def done(self, email: Claimed) -> None:
        """An email that was taken is in no line's hands any more: if it had room, another may have it."""
        if email.unloaded:
            self._room.leave(email.claim)

    def postpone(self, email: Claimed, seconds: float) -> None:
        """Put a large email back whose content cannot be had for now; none is handed out for so long."""
        self._aside[email.priority].appendleft(email)
        if self._room.open:
            self._room.open = False
            asyncio.get_running_loop().call_later(seconds, self._room.reopen)
        self._room.leave(email.claim)

    async def next(self, *, warm: bool = True) -> Claimed | None:
        """The next email, waiting for it; None when the buffer is closed. Not `warm`: the line has no connection."""
        if self._closed:
            return None
        email = self.take()
        if email is not None:
            return email
        waiter: asyncio.Future[Claimed | None] = asyncio.get_running_loop().create_future()
        self._idle.insert(len(self._idle) if warm else 0, waiter)
        return await waiter

    def remove(self, claims: Collection[Claim]) -> list[Claimed]:
        """Take these out; those that were there."""
        wanted = set(claims)
        found = [email for lane in self._waiting for email in lane if email.claim in wanted]
        for email in found:
            self._waiting[email.priority].remove(email)
        self._count -= len(found)
        aside = [email for lane in self._aside for email in lane if email.claim in wanted]
        for email in aside:
            self._aside[email.priority].remove(email)
        return found + aside

    def empty(self) -> list[Claimed]:
        """Take everything out."""
        lanes = (*self._waiting, *self._aside)
        emails = [email for lane in lanes for email in lane]
        for lane in lanes:
            lane.clear()
        self._count = 0
        self.low.set()
        return emails

    def close(self) -> None:
        """No more emails: whoever waits is told so."""
        self._closed = True
        for waiter in self._idle:
            if not waiter.done():
                waiter.set_result(None)
        self._idle.clear()

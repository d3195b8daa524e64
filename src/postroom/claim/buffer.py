"""The emails a worker has claimed and not yet begun, and the lines that wait for them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Collection, Iterable

from postroom.store.contract import Claim, Claimed
from postroom.vocabulary import Priority


class Buffer:
    """Urgent before normal before bulk, oldest first within each.

    A line that finds nothing waits; the line that began to wait last is served first, because its connection is warm.
    """

    def __init__(self) -> None:
        self._waiting: tuple[deque[Claimed], ...] = tuple(deque() for _ in Priority)
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
        return self._count

    @property
    def idle_lines(self) -> int:
        return len(self._idle)

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

    def take(self) -> Claimed | None:
        """The next email, if there is one."""
        if self._count - 1 <= self.mark:
            self.low.set()
        for lane in self._waiting:
            if lane:
                self._count -= 1
                self.taken += 1
                return lane.popleft()
        return None

    async def next(self) -> Claimed | None:
        """The next email, waiting for it; None when the buffer is closed."""
        if self._closed:
            return None
        email = self.take()
        if email is not None:
            return email
        waiter: asyncio.Future[Claimed | None] = asyncio.get_running_loop().create_future()
        self._idle.append(waiter)
        return await waiter

    def remove(self, claims: Collection[Claim]) -> list[Claimed]:
        """Take these out; those that were there."""
        wanted = set(claims)
        found = [email for lane in self._waiting for email in lane if email.claim in wanted]
        for email in found:
            self._waiting[email.priority].remove(email)
        self._count -= len(found)
        return found

    def empty(self) -> list[Claimed]:
        """Take everything out."""
        emails = [email for lane in self._waiting for email in lane]
        for lane in self._waiting:
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

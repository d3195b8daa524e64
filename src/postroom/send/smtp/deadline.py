"""One timer for a whole conversation, moved rather than made anew for each command."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import inf


class Deadline:
    """Calls `expire` when a limit has passed.

    A later deadline costs no more than an assignment: the timer that runs already looks again when it fires.
    """

    __slots__ = ("_at", "_expire", "_last", "_loop", "_timer", "limit")

    def __init__(self, loop: asyncio.AbstractEventLoop, expire: Callable[[], None]) -> None:
        self.limit = 0.0
        """Seconds that were given last."""
        self._loop = loop
        self._expire = expire
        self._at: float | None = None
        self._last = inf
        self._timer: asyncio.TimerHandle | None = None

    def set(self, limit: float, *, most: float = inf) -> None:
        """Expire in this many seconds from now, and not before. Renewals reach no further than `most`."""
        now = self._loop.time()
        self.limit = limit
        self._last = now + most
        self._at = at = now + limit
        if self._timer is None:
            self._timer = self._loop.call_at(at, self._look)
        elif self._timer.when() > at:
            self._timer.cancel()
            self._timer = self._loop.call_at(at, self._look)

    def renew(self) -> None:
        """Give the same limit again, from now."""
        self._at = min(self._loop.time() + self.limit, self._last)

    def lift(self) -> None:
        """Do not expire."""
        self._at = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._timer = None
        if self._at is None:
            return
        if self._loop.time() < self._at:
            self._timer = self._loop.call_at(self._at, self._look)
        else:
            self._expire()

"""Whether a service lives and can work: told by its event loop, read by the thread that answers whoever asks.

Alive is one whose event loop turns: one that hangs has to be started again. Ready is one that is alive, has heard from
its database lately and has nothing of its own in the way. A mail server that is away is no reason: the emails wait, and
starting the service again would not help them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

TURN = 1.0
"""Seconds between two signs of life of the event loop."""
HUNG = 30.0
"""Seconds without one after which it is taken to hang."""
SILENT = 15.0
"""Seconds without a word from the database after which it is taken to be away; services talk to it every five."""


class Pulse:
    """One service's signs of life. Whole values, written by its loop alone: nobody needs a lock to read them."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._turned = clock()
        self._answered: float | None = None
        self.obstacle: Callable[[], str] = lambda: ""
        """What else keeps the service from its work, in words; nothing while nothing does."""

    async def run(self) -> None:
        """A duty for as long as the service runs."""
        while True:
            self._turned = self._clock()
            await asyncio.sleep(TURN)

    def database_answered(self) -> None:
        self._answered = self._clock()

    def why_not_alive(self) -> str:
        """What is wrong; nothing while it lives."""
        silence = self._clock() - self._turned
        return f"the event loop has not turned for {silence:.0f} s" if silence > HUNG else ""

    def why_not_ready(self) -> str:
        """What is wrong; nothing while it can work."""
        if wrong := self.why_not_alive():
            return wrong
        if self._answered is None:
            return "the database has not answered yet"
        silence = self._clock() - self._answered
        return f"the database has not answered for {silence:.0f} s" if silence > SILENT else self.obstacle()

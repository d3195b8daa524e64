"""Kills a worker from the mail server's side: at the very moment in which the conversation comes to a certain point."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress

from postroom.send.script import At
from postroom.testing import Moment, ScriptedSmtp

MOMENTS: dict[str, tuple[At, bool]] = {
    "connected": ("connect", False),
    "greeted": ("ehlo", False),
    "envelope": ("mail", False),
    "recipient": ("rcpt", False),
    "data": ("data", False),
    "body": ("body", False),
    "dot received": ("dot", False),
    "dot answered": ("dot", True),
}
"""Where the server strikes, and whether it answers first."""


class Assassin:
    """Strikes once, the `nth` time that the moment comes. `victim` gives the process to kill, when it is known."""

    def __init__(self, server: ScriptedSmtp, moment: str, *, nth: int, victim: Callable[[], int]) -> None:
        self._at, self._answer_first = MOMENTS[moment]
        self._left = nth
        self._victim = victim
        self.struck = threading.Event()
        server.script(at=self._at, when=self._look)

    def _look(self, moment: Moment) -> bool:
        """Called by the server in the middle of the conversation. Never changes what the server says."""
        self._left -= 1
        if self._left == 0:
            if self._answer_first:
                # The reply is written in this very turn of the server's loop, so this comes right after it.
                asyncio.get_running_loop().call_soon(self._strike)
            else:
                self._strike()
        return False

    def _strike(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self._victim(), signal.SIGKILL)
        self.struck.set()

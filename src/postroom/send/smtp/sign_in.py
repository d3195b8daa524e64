"""The password of one server, tried with care: accounts are locked where a wrong one is tried again and again.

Every line signs in on its own connection, and there may be hundreds. So one goes ahead, and once the server has taken
the password, two at a time may follow. When it is refused, everybody who was on the way to sign in is given the same
answer without asking: they are told what they would have been told. Whoever begins afterwards may ask again; by then
the route is paused, and only a probe or a person begins anything.

What holds: a process tries a password that is wrong once, and one that has become wrong at most twice, however many
lines there are. Processes do not know of each other here; they share the pause.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from postroom.send.smtp.replies import Lines, code_of

TRUSTED = 2
"""How many may sign in at once with a password that was good the last time."""


class SignIns:
    """Who may say the password now."""

    def __init__(self) -> None:
        self.refusals = 0
        """How often it was refused; noted by whoever begins, to know later whether it was refused meanwhile."""
        self._refusal: Lines = ()
        self._trusted = False
        self._under_way = 0
        self._waiting: list[asyncio.Future[None]] = []

    async def sign_in(self, ask: Callable[[], Coroutine[Any, Any, Lines]], *, since: int) -> Lines:
        """What the server says to the password, or has said to another line since `refusals` was `since`."""
        while self.refusals == since and self._under_way >= (TRUSTED if self._trusted else 1):
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn
        if self.refusals != since:
            return self._refusal
        self._under_way += 1
        try:
            lines = await ask()
            self._note(lines)
            return lines
        except BaseException:
            self._trusted = False  # nobody knows what the server would have said: one goes ahead again
            raise
        finally:
            self._under_way -= 1
            self._wake()

    def _note(self, lines: Lines) -> None:
        code = code_of(lines)
        self._trusted = code == 235
        if code >= 400:
            self.refusals += 1
            self._refusal = lines

    def _wake(self) -> None:
        """Whoever waits looks again whether it is their turn."""
        waiting, self._waiting = self._waiting, []
        for turn in waiting:
            if not turn.done():
                turn.set_result(None)

"""The troubles a developer can switch on, and the rules for the mail server that follow from them."""

from __future__ import annotations

import threading
from enum import StrEnum

from postroom.send.script import At, Rule, Script

PAUSE = 2.0
"""Seconds before each reply of a slow server."""

_SPOKEN: tuple[At, ...] = ("greeting", "ehlo", "mail", "rcpt", "data", "dot")


class Trouble(StrEnum):
    """What a mail server can do to its clients."""

    REFUSE = "refuse"
    """No connection is taken, and those that exist are reset."""
    TEMPORARY = "temporary"
    """Each message is refused for now (451), after it came whole."""
    PERMANENT = "permanent"
    """Each message is refused for good (554)."""
    SLOW = "slow"
    """Every reply takes its time."""
    DROP = "drop"
    """Each message is kept, and the connection closed before the client hears so: its fate is in doubt."""


COUNTED = frozenset((Trouble.TEMPORARY, Trouble.PERMANENT, Trouble.DROP))
"""The troubles that befall one message at a time, and can be switched on for the next few only."""


class Chaos:
    """Which troubles are on, and for how many messages more. Any thread may ask and change it."""

    def __init__(self, *, pause: float = PAUSE) -> None:
        self._pause = pause
        self._left: dict[Trouble, int | None] = {}
        self._lock = threading.Lock()
        self.changes = 0
        """Counts up with every change."""

    def switch_on(self, trouble: Trouble, *, times: int | None = None) -> None:
        """From now on, or for the next `times` messages."""
        if times is not None and (times < 1 or trouble not in COUNTED):
            raise ValueError(f"{trouble.value} cannot be switched on for {times} messages; leave `times` out")
        with self._lock:
            self._left[trouble] = times
            self.changes += 1

    def switch_off(self, trouble: Trouble) -> None:
        """As if it had never been on; nothing happens when it is not."""
        with self._lock:
            self._left.pop(trouble, None)
            self.changes += 1

    def state(self) -> dict[Trouble, int | None]:
        """Those that are on, each with the number of messages it is still for, or None for all."""
        with self._lock:
            return {trouble: self._left[trouble] for trouble in Trouble if trouble in self._left}

    def strikes(self, trouble: Trouble) -> bool:
        """Whether it befalls this message. One that is on for a number of messages is used up by one."""
        with self._lock:
            if trouble not in self._left:
                return False
            left = self._left[trouble]
            if left is not None:
                self.changes += 1
                self._left[trouble] = left - 1
                if left == 1:
                    del self._left[trouble]
            return True

    def script(self) -> Script:
        """The rules of a server with these troubles. They ask at every moment, so nothing needs to be scripted anew."""
        script = Script()
        for at in _SPOKEN:
            script.add(Rule(at=at, delay=self._pause, when=lambda _: self.strikes(Trouble.SLOW)))
        # The newest rule that fits is used: of several troubles at the dot, the last of these.
        for rule in (
            Rule(
                at="dot",
                reply="451 4.3.0 the dev inbox was told to refuse this for now",
                when=lambda _: self.strikes(Trouble.TEMPORARY),
            ),
            Rule(
                at="dot",
                reply="554 5.7.1 the dev inbox was told to refuse this for good",
                when=lambda _: self.strikes(Trouble.PERMANENT),
            ),
            Rule(at="dot", cut=True, when=lambda _: self.strikes(Trouble.DROP)),
        ):
            script.add(rule)
        return script

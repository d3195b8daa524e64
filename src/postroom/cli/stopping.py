"""Until somebody says stop, by Ctrl-C or `kill`.

Not a `threading.Event`: the handler of a signal runs in the main thread between any two of its steps, also within the
event's own `wait`, whose lock `set` would then wait for, for ever. The command could be ended by `kill -9` alone. And
not that handler, but the signal itself is what ends a wait: one that comes between the last step and the wait is heard.
"""

from __future__ import annotations

import select
import signal
import socket


class Stop:
    """Whether somebody has said so, from now on; what these signals did before is over."""

    def __init__(self) -> None:
        self.said = False
        self._heard, self._told = socket.socketpair()
        self._told.setblocking(False)
        signal.set_wakeup_fd(self._told.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._said)

    def wait(self, seconds: float | None = None) -> None:
        """Return when it is said, or after so many seconds; at once when it was said before."""
        select.select([self._heard], [], [], seconds)

    def _said(self, *_: object) -> None:
        self.said = True

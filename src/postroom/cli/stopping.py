"""Until somebody says stop, by Ctrl-C or `kill`.

Not a `threading.Event`: the handler of a signal runs in the main thread between any two of its steps, also within the
event's own `wait`, whose lock `set` would then wait for, for ever. The command could be ended by `kill -9` alone.
"""

from __future__ import annotations

import select
import signal
import socket
from contextlib import suppress


class Stop:
    """Whether somebody has said so, from now on; what these signals did before is over."""

    def __init__(self) -> None:
        self.said = False
        self._heard, self._say = socket.socketpair()
        self._say.setblocking(False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._said)

    def wait(self, seconds: float | None = None) -> None:
        """Return when it is said, or after so many seconds; at once when it was said before."""
        select.select([self._heard], [], [], seconds)

    def _said(self, *_: object) -> None:
        self.said = True
        with suppress(BlockingIOError):  # said so often that nobody needs to hear it again
            self._say.send(b"\0")

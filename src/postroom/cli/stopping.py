"""Until somebody says stop, by Ctrl-C or `kill`.

Not a `threading.Event`: the handler of a signal runs in the main thread between any two of its steps, also within the
event's own `wait`, whose lock `set` would then wait for, for ever. The command could be ended by `kill -9` alone. And
not that handler, but the signal itself is what ends a wait: one that comes between the last step and the wait is heard.
"""

from __future__ import annotations

import select
import signal
import socket
from typing import Self

SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Stop:
    """Whether somebody has said so since it was entered. Afterwards signals mean what they meant before."""

    def __init__(self) -> None:
        self.said = False

    def __enter__(self) -> Self:
        self._heard, self._told = socket.socketpair()
        self._told.setblocking(False)
        self._woke_before = signal.set_wakeup_fd(self._told.fileno(), warn_on_full_buffer=False)
        self._meant_before = {number: signal.signal(number, self._say) for number in SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, meaning in self._meant_before.items():
            signal.signal(number, signal.SIG_DFL if meaning is None else meaning)
        signal.set_wakeup_fd(self._woke_before)
        self._heard.close()
        self._told.close()

    def wait(self, seconds: float | None = None) -> None:
        """Return when it is said, or after so many seconds; at once when it was said before."""
        select.select([self._heard], [], [], seconds)

    def _say(self, *_: object) -> None:
        self.said = True

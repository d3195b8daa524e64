"""What a test server has seen: messages, commands, connections."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

_MESSAGE_ID = re.compile(rb"^message-id:[ \t]*(?:\r?\n[ \t]+)?([^\r\n]*)", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedMessage:
    """One message as it came in."""

    sender: str
    recipients: tuple[str, ...]
    """Those whom the server accepted."""
    data: bytes
    """The message itself, dots no longer doubled."""
    message_id: str
    """With its angle brackets; empty when the message has none."""
    accepted: bool
    """Whether the server took it. A message whose reply was cut off was taken."""
    connection: int
    """On which connection it came, counted from 1."""
    at: float
    """When, as `time.time()`."""


class NotKept(Exception):
    """The message could not be recorded; it says why, and the client is asked to try again later."""


class Record:
    """All that a server has seen, in order. Written by the server's thread, read by the test's."""

    def __init__(self) -> None:
        self.connections = 0
        self._accepted = 0
        self._messages: list[ReceivedMessage] = []
        self._commands: list[str] = []
        self._violations: list[str] = []
        self._changed = threading.Condition()

    def connected(self) -> int:
        """One more connection; returns its number."""
        with self._changed:
            self.connections += 1
            self._changed.notify_all()
            return self.connections

    def received(self, message: ReceivedMessage) -> None:
        with self._changed:
            self._messages.append(message)
            self._accepted += message.accepted
            self._changed.notify_all()

    def heard(self, command: str) -> None:
        with self._changed:
            self._commands.append(command)
            self._changed.notify_all()

    def violated(self, what: str) -> None:
        with self._changed:
            self._violations.append(what)

    def messages(self, *, accepted: bool) -> list[ReceivedMessage]:
        with self._changed:
            return [message for message in self._messages if message.accepted is accepted]

    def commands(self) -> list[str]:
        with self._changed:
            return list(self._commands)

    def violations(self) -> list[str]:
        with self._changed:
            return list(self._violations)

    def copies(self) -> Counter[str]:
        return Counter(message.message_id for message in self.messages(accepted=True))

    def clear(self) -> None:
        with self._changed:
            self._messages.clear()
            self._commands.clear()
            self._accepted = 0

    def wait_for_messages(self, count: int, timeout: float) -> bool:
        """Wait until this many were accepted; False when time ran out."""
        return self.wait_until(lambda: self._accepted >= count, timeout)

    def wait_until(self, condition: Callable[[], bool], timeout: float) -> bool:
        """Ask again after everything that happens; False when time ran out."""
        with self._changed:
            return self._changed.wait_for(condition, timeout)


def message_id_of(data: bytes) -> str:
    """The Message-ID in the message's header, or the empty string."""
    header = data.partition(b"\r\n\r\n")[0]
    found = _MESSAGE_ID.search(header)
    return found[1].decode("ascii", "replace").strip() if found else ""

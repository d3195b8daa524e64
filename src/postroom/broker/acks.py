"""Which messages of a channel are done with, and how to say so in few words.

A broker numbers the messages it delivers and takes «everything up to this one» for an answer. Emails are finished
nearly in the order they came, so most answers are of that kind; one that is slow holds up nobody's.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Answer:
    """What to tell the broker."""

    up_to: int | None
    """All messages up to this one are done with."""
    single: tuple[int, ...]
    """And these."""


class Acks:
    """Delivered messages, in order."""

    def __init__(self) -> None:
        self._open: deque[int] = deque()
        self._done: set[int] = set()
        self._answered: set[int] = set()

    def __len__(self) -> int:
        """How many messages the broker waits for."""
        return len(self._open) - len(self._answered)

    def deliver(self, tag: int) -> None:
        self._open.append(tag)

    def done(self, tag: int) -> None:
        """This one is done with; the next answer says so."""
        self._done.add(tag)

    def answered(self, tag: int) -> None:
        """The broker was told about this one by other means."""
        self._answered.add(tag)
        self._done.discard(tag)

    def answer(self) -> Answer | None:
        """What to tell now; None when there is nothing. What is told once is not told again."""
        up_to: int | None = None
        while self._open and (self._open[0] in self._done or self._open[0] in self._answered):
            tag = self._open.popleft()
            if tag in self._done:
                up_to = tag
            self._done.discard(tag)
            self._answered.discard(tag)
        single = tuple(sorted(self._done))
        self._answered |= self._done
        self._done.clear()
        return Answer(up_to, single) if up_to is not None or single else None

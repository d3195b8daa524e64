"""How often one address may knock: so many at once, then so many a minute. Kept in memory, for each process."""

from __future__ import annotations

from collections import OrderedDict

from postroom.accounts.neighbourhood import block_of

REMEMBERED = 10_000
"""Addresses; beyond that the one that was silent for longest is forgotten."""


class Limiter:
    """Counts by address. Time is an argument, in seconds of any clock that does not go back."""

    def __init__(self, *, a_minute: int, at_once: int) -> None:
        self._interval = 60 / a_minute
        self._slack = self._interval * (at_once - 1)
        self._next: OrderedDict[str, float] = OrderedDict()

    def wait(self, address: str, now: float) -> float:
        """0, and it counts; or the seconds to wait, and it does not."""
        neighbourhood = block_of(address)
        due = max(self._next.get(neighbourhood, now), now)
        if due - now > self._slack:
            return due - now - self._slack
        self._next[neighbourhood] = due + self._interval
        self._next.move_to_end(neighbourhood)
        if len(self._next) > REMEMBERED:
            self._next.popitem(last=False)
        return 0.0

"""What a scheduler or a sender counts about its dealings with the broker, from its start.

Whole numbers, written by the event loop alone and read by the thread that answers a scrape, as those of a worker are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from postroom.broker.meter import DispatchMeter, Fate


class CountingDispatch(DispatchMeter):
    """Counts what one process publishes, claims and puts aside."""

    __slots__ = ("announcements", "broker_connected", "fates", "gone", "lost", "poisoned", "too_late")

    def __init__(self) -> None:
        self.fates: dict[Fate, int] = dict.fromkeys(Fate, 0)
        self.lost = 0
        self.gone = 0
        self.announcements = 0
        self.too_late = 0
        self.poisoned = 0
        self.broker_connected = False

    def published(self, fates: Sequence[Fate]) -> None:
        for fate, count in Counter(fates).items():
            self.fates[fate] += count

    def requeued(self, emails: int) -> None:
        self.lost += emails

    def gave_up(self, emails: int) -> None:
        self.gone += emails

    def announced(self, emails: int) -> None:
        self.announcements += emails

    def stale(self, messages: int) -> None:
        self.too_late += messages

    def poison(self) -> None:
        self.poisoned += 1

    def connected(self, connected: bool) -> None:
        self.broker_connected = connected

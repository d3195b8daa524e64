"""What a worker tells about itself while it works, for whoever measures.

`Meter` counts nothing: a worker that nobody measures pays a call that does nothing, a few times for each email. One
that counts is made by `postroom.metrics.counting`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from postroom.send.contract import Report
from postroom.settle.attempt import Outcome
from postroom.store.contract import Claimed
from postroom.vocabulary import Status


class Tally(NamedTuple):
    """What attempts came to."""

    sent: int = 0
    failed: int = 0
    """Those that were not accepted, for whatever reason."""


class Meter:
    """Hears what a worker does. Called in the worker's event loop, so it must neither wait nor raise."""

    __slots__ = ()

    def serves(self, route: str, channel: str) -> None:
        """Emails of this route are attempted from now on, which is of this channel."""

    def claimed(self, emails: Sequence[Claimed], seconds: float) -> None:
        """The database was asked for emails, took so long, and gave these."""

    def attempted(self, route: str, outcome: Outcome, report: Report) -> None:
        """An email of a route was attempted, and this came of it."""

    def sent(self, route: str, report: Report) -> None:
        """An email of a route was attempted, and the server took it for everybody."""

    def settled(self, emails: int, seconds: float) -> None:
        """What came of so many emails was committed; the database took so long."""

    def took_over(self, emails: int) -> None:
        """So many emails were taken over from workers that are gone."""

    def suppressed(self) -> None:
        """An email was not sent, because nobody was left who may be mailed."""

    def tally(self) -> Tally:
        """What was counted so far."""
        return Tally()


class TallyMeter(Meter):
    """Counts just enough to say how it goes."""

    __slots__ = ("_failed", "_sent")

    def __init__(self) -> None:
        self._sent = self._failed = 0

    def attempted(self, route: str, outcome: Outcome, report: Report) -> None:
        if outcome.status is Status.SENT:
            self._sent += 1
        else:
            self._failed += 1

    def sent(self, route: str, report: Report) -> None:
        self._sent += 1

    def tally(self) -> Tally:
        return Tally(self._sent, self._failed)


UNMETERED = Meter()

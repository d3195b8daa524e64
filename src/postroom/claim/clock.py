"""The database's time between two looks at it, kept by a clock that only goes forward.

Due times, leases and expiries are the database's. What is in hand is judged by the time that the database told last and
by how long ago that was on the monotonic clock: this machine's own clock may be set back or ahead an hour meanwhile,
and nothing is late, early or expired for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta


class DatabaseClock:
    """Tells the database's time without asking it."""

    def __init__(
        self,
        given: Callable[[], datetime | None] | None = None,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        wall: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`given` is for tests: the time that everything goes by, where it names one."""
        self._given = given
        self._monotonic = monotonic
        self._wall = wall
        self._told: tuple[datetime, float] | None = None

    def anchor(self, instant: datetime) -> None:
        """The database has just told its time."""
        self._told = instant, self._monotonic()

    def now(self) -> datetime:
        """The database's time, as far as we know it; this machine's before it has told us."""
        if self._given is not None and (given := self._given()) is not None:
            return given
        if self._told is None:
            return self._wall()
        instant, since = self._told
        return instant + timedelta(seconds=self._monotonic() - since)

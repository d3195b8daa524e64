"""A sending rate that holds over all workers together: `14/s`, `100/m`, `5000/h`, `2000/d`.

The limiter is one integer for each transport, its theoretical arrival time: when, at the even pace of the rate, the
next email would be due. A store keeps it in a row and moves it by `reserve` in one transaction, with one clock for all.

Guarantee: in any stretch of time no more leave than `burst` and what the rate allows in that stretch.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from postroom.errors import ConfigurationError

_PERIODS = {"s": 1_000_000, "m": 60_000_000, "h": 3_600_000_000, "d": 86_400_000_000}
_WRITTEN = re.compile(r"([1-9]\d{0,8})\s*/\s*([smhd])", re.ASCII)
_BURST_TIME = 100_000


@dataclass(frozen=True, slots=True)
class Rate:
    """So many emails in a period."""

    count: int
    period: str
    """`s`, `m`, `h` or `d`."""

    def __str__(self) -> str:
        return f"{self.count}/{self.period}"

    @property
    def interval(self) -> int:
        """Microseconds between two emails, rounded up: never faster than the rate."""
        return -(-_PERIODS[self.period] // self.count)

    @property
    def burst(self) -> int:
        """How many may leave together: what a tenth of a second allows, so that fast rates can go in batches."""
        return max(1, _BURST_TIME // self.interval)


@dataclass(frozen=True, slots=True)
class Reservation:
    """What `reserve` granted."""

    arrival: int
    """The new theoretical arrival time, to be stored."""
    granted: int
    """So many may be sent now."""
    wait: int
    """Microseconds until one more may; 0 when all were granted."""


def parse_rate(text: str) -> Rate:
    """Read `14/s`."""
    found = _WRITTEN.fullmatch(text.strip().lower())
    if found is None:
        raise ConfigurationError(
            f"{text[:60]!r} is not a rate; write emails per period, such as 14/s, 100/m, 5000/h, 2000/d"
        )
    return Rate(int(found[1]), found[2])


def reserve(arrival: int, now: int, wanted: int, rate: Rate, burst: int | None = None) -> Reservation:
    """Ask for permission to send `wanted` emails now. All times are in microseconds.

    An arrival time further ahead than a full burst can only come from a clock that was set back; it is not waited for.
    """
    interval = rate.interval
    room = (rate.burst if burst is None else max(1, burst)) * interval
    start = min(max(arrival, now), now + room)
    granted = max(0, min(wanted, (now + room - start) // interval))
    following = start + granted * interval
    wait = max(0, following + interval - room - now) if granted < wanted else 0
    return Reservation(following, granted, wait)

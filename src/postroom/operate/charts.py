"""Tallies as charts: one point for every step, also where nothing happened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from postroom.operate.values import Point, Series

Tally = tuple[datetime, str, int]

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SHOWN = ("enqueued", "sent", "retried", "died")


def series(tallies: Iterable[Tally], *, now: datetime, step: timedelta, steps: int) -> Series:
    """The last `steps` steps up to now; the one that has just begun is the last."""
    last = floor(now, step)
    first = last - (steps - 1) * step
    sums: Counter[tuple[datetime, str]] = Counter()
    for at, name, count in tallies:
        if name in _SHOWN and first <= at <= now:
            sums[floor(at, step), name] += count
    moments = [first + number * step for number in range(steps)]
    return Series(
        step=step,
        points=tuple(Point(at=at, **{name: sums[at, name] for name in _SHOWN}) for at in moments),
    )


def floor(at: datetime, step: timedelta) -> datetime:
    """The beginning of the step that an instant lies in."""
    return at - (at - _EPOCH) % step

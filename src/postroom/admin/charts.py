"""Bars over time, as numbers for an SVG: plain arithmetic, so that the page needs no script and no library.

Bars are stacked, sent at the bottom, then retried, then died. A bar that is not empty is never too small to be seen.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from postroom.admin.wording import clock, counted
from postroom.operate.values import Point, Series

WIDTH = 600
HEIGHT = 120
LEAST = 2.0
"""The least height of a part that counts at least one email."""
KINDS = ("sent", "retried", "died")
_GAP = 0.25
_STEPS = (1, 2, 5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One coloured piece of a bar."""

    kind: str
    y: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One minute or hour."""

    x: float
    width: float
    label: str
    """What a pointer over it, or a screen reader, is told."""
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A drawn stretch of time."""

    name: str
    """For ids in the page: `hour`, `day`."""
    title: str
    unit: str
    """`a minute` or `an hour`."""
    bars: tuple[Bar, ...]
    top: int
    """What the upper edge stands for."""
    first: str
    middle: str
    totals: dict[str, int]
    summary: str
    """The whole chart in a sentence."""


def chart(name: str, title: str, unit: str, series: Series) -> Chart:
    """Draw a series, the oldest step at the left."""
    points = series.points
    top = round_up(max((sum(_counts(point)) for point in points), default=0))
    width = WIDTH / max(len(points), 1)
    totals = {kind: sum(_counts(point)[place] for point in points) for place, kind in enumerate(KINDS)}
    return Chart(
        name=name,
        title=title,
        unit=unit,
        bars=tuple(_bar(point, place * width, width, top) for place, point in enumerate(points)),
        top=top,
        first=clock(points[0].at) if points else "",
        middle=clock(points[len(points) // 2].at) if points else "",
        totals=totals,
        summary=f"{title}: {_words(totals.values())}.",
    )


def round_up(number: int) -> int:
    """The next of 1, 2, 5, 10, 20, 50 …, for an edge that does not wander with every email."""
    magnitude = 1
    while True:
        for step in _STEPS:
            if number <= step * magnitude:
                return step * magnitude
        magnitude *= 10


def _bar(point: Point, x: float, width: float, top: int) -> Bar:
    parts, y = [], float(HEIGHT)
    for kind, count in zip(KINDS, _counts(point), strict=True):
        if count:
            height = max(count / top * HEIGHT, LEAST)
            y -= height
            parts.append(Part(kind=kind, y=round(max(y, 0.0), 2), height=round(height, 2)))
    label = f"{clock(point.at)}: {_words(_counts(point))}"
    return Bar(x=round(x, 2), width=round(width * (1 - _GAP), 2), label=label, parts=tuple(parts))


def _counts(point: Point) -> tuple[int, int, int]:
    """In the order of `KINDS`."""
    return point.sent, point.retried, point.died


def _words(counts: Iterable[int]) -> str:
    sent, retried, died = counts
    return f"{counted(sent)} sent, {counted(retried)} retried, {counted(died)} dead"

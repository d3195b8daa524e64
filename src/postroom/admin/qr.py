"""A QR code as the outline of one SVG path: drawn here, so that no secret is shown to anybody else."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from postroom.errors import ConfigurationError

QUIET = 4
"""Modules of white that readers want around it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """What a template puts into `<path>` and `viewBox`."""

    size: int
    path: str


def draw(text: str) -> Drawing:
    """The text as a drawing: a run of dark modules in a row is one rectangle."""
    try:
        import segno
    except ImportError as error:
        raise ConfigurationError(
            "drawing a QR code needs segno: install it with `pip install 'postroom[web]'`"
        ) from error
    rows = [list(map(bool, row)) for row in segno.make(text, micro=False, error="m").matrix]
    runs = [
        f"M{start + QUIET} {y + QUIET}h{length}v1h-{length}z"
        for y, row in enumerate(rows)
        for start, length in _dark_runs(row)
    ]
    return Drawing(size=len(rows) + 2 * QUIET, path="".join(runs))


def _dark_runs(row: list[bool]) -> list[tuple[int, int]]:
    """Where dark modules begin, and how many there are."""
    found, x = [], 0
    for dark, group in groupby(row):
        length = len(list(group))
        if dark:
            found.append((x, length))
        x += length
    return found

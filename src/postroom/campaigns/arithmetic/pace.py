"""The gap between one mail of a workspace and the next, across campaigns and windows.

Two promises can meet in a window that is short, or that another one touches: the gap, and that an open window with
quota left takes at least one mail. A gap that chance has drawn too long for such a window is shortened; never below
the least gap, which is the stronger promise of the two. Where not even that fits, the window is passed over.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

from postroom.campaigns.arithmetic.settings import SendingSettings
from postroom.campaigns.arithmetic.window import Opening

_TICK = timedelta(microseconds=1)
_END_OF_TIME = datetime.max.replace(tzinfo=UTC)


def draw_gap(settings: SendingSettings, random: Random) -> timedelta:
    """How long after a mail the next may leave. Never nothing: a step follows the one before it, not beside it."""
    least, most = settings.gap_seconds
    return max(_TICK, timedelta(seconds=least + (most - least) * random.random()))


def least_gap(settings: SendingSettings) -> timedelta:
    return max(_TICK, timedelta(seconds=settings.gap_seconds[0]))


def free_from(
    settings: SendingSettings, opening: Opening, *, last: datetime | None, gap: timedelta, first: bool
) -> datetime:
    """From when on the mail before, and the gap drawn after it, let one leave in this window; perhaps after it closed.

    `first` says that the window has taken none yet: then the gap may be shortened, so that it takes one.
    """
    if last is None:
        return opening.open
    free = later(last, gap)
    if first and free >= opening.close:
        free = later(last, min(gap, least_gap(settings)))
    return max(opening.open, free)


def later(instant: datetime, gap: timedelta) -> datetime:
    """The instant so much later, or the last there is."""
    try:
        return instant + gap
    except OverflowError:
        return _END_OF_TIME


class Pace:
    """When the next mail leaves, one after another."""

    def __init__(self, settings: SendingSettings, random: Random, *, now: datetime, last: datetime | None) -> None:
        self._settings = settings
        self._random = random
        self._now = now
        self._last = last
        self._gap = draw_gap(settings, random)

    def begin(self, opening: Opening, *, first: bool) -> datetime | None:
        """When the next mail leaves in this window; None if there is no place for one.

        The first of a window does not leave on the stroke of the hour, but within the longest gap after it.
        """
        free = free_from(self._settings, opening, last=self._last, gap=self._gap, first=first)
        earliest = max(free, self._now)
        if earliest >= opening.close:
            return None
        if not first or earliest == self._following():
            return earliest
        latest = later(opening.open, timedelta(seconds=self._settings.gap_seconds[1]))
        return self._between(earliest, max(earliest, min(latest, opening.close)))

    def go_on(self, sent: datetime, close: datetime) -> datetime | None:
        """When the mail after this one leaves; None if the window has closed by then."""
        self._last, self._gap = sent, draw_gap(self._settings, self._random)
        following = later(sent, self._gap)
        return following if following < close else None

    def _following(self) -> datetime | None:
        return None if self._last is None else later(self._last, self._gap)

    def _between(self, earliest: datetime, latest: datetime) -> datetime:
        """Never the latest itself, unless there is nothing before it."""
        ticks = (latest - earliest) // _TICK
        return earliest + int(ticks * self._random.random()) * _TICK

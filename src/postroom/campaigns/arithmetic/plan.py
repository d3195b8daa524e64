"""When every mail of some campaigns will leave, if nothing comes between: the forecast, and the slots of a launch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from random import Random
from typing import NamedTuple

from postroom.campaigns.arithmetic.impasse import OTHER_WINDOWS, impasse
from postroom.campaigns.arithmetic.pace import Pace
from postroom.campaigns.arithmetic.quota import allowance
from postroom.campaigns.arithmetic.settings import SendingSettings, check_settings
from postroom.campaigns.arithmetic.turns import Planned, Turns
from postroom.campaigns.arithmetic.window import Opening, in_utc, local_date, openings, openings_after, window_day_at
from postroom.campaigns.checks import refuse, whole
from postroom.errors import CannotFinish


class Slot(NamedTuple):
    """When one step goes to one prospect."""

    campaign: str
    prospect: str
    step: int
    """From 1."""
    at: datetime
    """In UTC."""


def plan(
    settings: SendingSettings,
    campaigns: Iterable[Planned],
    *,
    now: datetime,
    random: Random,
    used: Mapping[date, int] | None = None,
    sent_days: int = 0,
    last: datetime | None = None,
) -> Iterator[Slot]:
    """A slot for every step of every prospect, in the order of time; campaigns in the order of their launch.

    No slot lies before `now` or outside a window. A window day takes no more than its allowance, less what `used` says
    was accepted on it. Slots keep the gap to each other and to `last`, the instant of the last mail accepted (without
    it, mail used on the present window day is taken to have left just now). A step's delay counts from the window day
    of the slot before; due follow-ups go before new prospects; and nobody waits while somebody else's turn, a window
    and some allowance are there.

    `sent_days` is the number of window days with accepted mail before the present one, which is the day of the window
    that is open, else the date on the clock. The present day and later ones speak through `used`; what `used` says of
    earlier days is not read, for `sent_days` has counted them.

    The plan is lazy: prospects are read as their turn comes, and only those between two steps are kept. The same
    arguments, with `random` in the same state, give the same slots.

    Raises `CannotFinish` in the place of a slot when no other can ever follow: the quota is 0, a step of the ramp-up
    is 0, or the calendar ends. The slots before it hold, and it says how many mails are left; of an endless row of
    prospects, how many were counted.
    """
    check_settings(settings)
    if not isinstance(random, Random):
        refuse("random", "a random.Random", random, "give one with a seed, such as Random(7)")
    now = in_utc("now", now)
    whole("sent_days", sent_days, least=0)
    present = window_day_at(settings, now) or local_date(settings, now)
    mailed = {day: count for day, count in _checked(used or {}) if count > 0 and day >= present}
    if last is None and present in mailed:
        last = now
    pace = Pace(settings, random, now=now, last=None if last is None else in_utc("last", last))
    return _slots(settings, Turns(campaigns), pace, _Days(settings, now, mailed, sent_days))


def _checked(used: object) -> Iterator[tuple[date, int]]:
    if not isinstance(used, Mapping):
        refuse("used", "mails by window day", used, "write {date(2026, 3, 9): 12}")
    for day, count in used.items():
        if not isinstance(day, date) or isinstance(day, datetime):
            refuse("used", "dates", day, "name window days: window_day_at(settings, instant)")
        yield day, whole(f"used[{day.isoformat()}]", count, least=0)


def _slots(settings: SendingSettings, turns: Turns, pace: Pace, days: _Days) -> Iterator[Slot]:
    while (due := turns.due()) is not None:
        opening, room = days.next(due, turns)
        today, first = opening.day.toordinal(), not days.used
        at = pace.begin(opening, first=first) if room > 0 else None
        while at is not None and (turn := turns.take(today)):
            yield Slot(campaign=turn.campaign.id, prospect=turn.prospect, step=turn.step, at=at)
            turns.sent(turn, today)
            days.planned += 1
            following = pace.go_on(at, opening.close)
            at = following if days.planned < room else None


class _Days:
    """The window days one after another, with what may leave on each."""

    def __init__(self, settings: SendingSettings, now: datetime, mailed: Mapping[date, int], sent_days: int) -> None:
        self._settings = settings
        self._mailed = mailed
        self._sent_days = sent_days
        self._openings = openings_after(settings, now)
        self._today: date | None = None
        self.used = 0
        """Mails accepted on this day before the plan began."""
        self.planned = 0
        """Slots on this day."""

    def next(self, due: int, turns: Turns) -> tuple[Opening, int]:
        """The next open day from this one on, and how many may leave on it."""
        self._sent_days += bool(self.planned and not self.used)
        opening = self._find(due)
        if opening is None:
            remedy = "choose shorter delays" if self._today else OTHER_WINDOWS
            raise CannotFinish(turns.count(), "no window opens before the calendar ends", remedy)
        self._today, self.planned, self.used = opening.day, 0, self._mailed.get(opening.day, 0)
        ramp_day = 1 + self._sent_days + sum(day < opening.day for day in self._mailed)
        allowed = allowance(self._settings, ramp_day)
        # Days without mail do not advance the ramp-up: without any to come, tomorrow would be as today, for ever.
        if not allowed and all(day < opening.day for day in self._mailed):
            held = impasse(self._settings, now=opening.open, sent_days=ramp_day - 1)
            assert held is not None, "days without an allowance have a reason"
            raise CannotFinish(turns.count(), held.cause, held.remedy)
        return opening, allowed - self.used

    def _find(self, due: int) -> Opening | None:
        """Days are looked at one by one, or left out where nothing is due on them."""
        if due > date.max.toordinal():
            return None
        if self._today is not None and due > self._today.toordinal() + 1:
            self._openings = openings(self._settings, date.fromordinal(due))
        return next(self._openings, None)

"""Whose turn it is: follow-ups that are due before new prospects, each prospect one step after another.

Only prospects between their first and their last step are kept; new ones are taken from their campaign when it is
their turn. So memory follows the quota and the delays, not the size of the campaigns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from heapq import heappop, heappush
from itertools import chain, islice
from typing import NamedTuple

from postroom.campaigns.arithmetic.keys import SEPARATOR, check_id
from postroom.campaigns.checks import listed, refuse, whole

_ROOM_FOR_PROSPECTS = 2**40
"""In the numbers of one campaign, before those of the next begin."""
COUNTED = 2_000_000
"""New prospects that are counted where nothing can leave any more: a generator may have no end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnderWay:
    """A prospect who has had the step before this one."""

    prospect: str
    step: int
    """The next step, from 2."""
    sent_on: date
    """The window day on which the step before really left."""

    def __post_init__(self) -> None:
        _check_prospect("under_way.prospect", self.prospect)
        whole("under_way.step", self.step, least=2)
        _check_day("under_way.sent_on", self.sent_on)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A campaign as the plan sees it."""

    id: str
    prospects: Iterable[str]
    """Those still to get their first step, as they were enrolled.

    Of a tuple or a list each is looked at now, and whoever stands twice in it is planned once. Anything else, such as a
    generator, is read when its turn comes, and has to name each once: who came before is not kept.
    """
    delay_days: tuple[int, ...]
    """For each step the days since the step before; 0 is the same day, after it. The first step follows none: its
    number is not read."""
    under_way: Iterable[UnderWay] = ()
    """Those between two steps, in the order in which they were enrolled; nobody among them is among `prospects`."""

    def __post_init__(self) -> None:
        check_id("id", self.id)
        if isinstance(self.prospects, str) or not isinstance(self.prospects, Iterable):
            refuse("prospects", "several ids", self.prospects, "give them as a tuple, a list or a generator")
        if isinstance(self.prospects, tuple | list):
            object.__setattr__(self, "prospects", tuple(dict.fromkeys(map(_checked, self.prospects))))
        delays = listed("delay_days", self.delay_days, "a number for each step, such as (0, 3, 4)")
        if not delays:
            refuse("delay_days", "a number for each step", delays, "a campaign has at least one step: (0,)")
        checked = tuple(whole("delay_days", delay, least=0) for delay in delays)
        object.__setattr__(self, "delay_days", checked)


class Turn(NamedTuple):
    """A prospect's next step. Those that come first are smaller: by due day, then as they were enrolled."""

    due: int
    """The ordinal of the window day from which on it may leave."""
    number: int
    """Campaigns by their launch, within each its prospects by their enrolment; no two are alike."""
    step: int
    prospect: str
    campaign: Planned


class Turns:
    """All mail that is still to be planned."""

    def __init__(self, campaigns: Iterable[Planned]) -> None:
        self._follow_ups: list[Turn] = []
        campaigns = list(map(_planned, listed("campaigns", campaigns, "a list of Planned(…)")))
        beginnings = [self._add(campaign, number) for number, campaign in enumerate(campaigns)]
        self._new = chain.from_iterable(beginnings)
        self._next_new = next(self._new, None)

    def take(self, today: int) -> Turn | None:
        """Whose turn it is on this day; None if everybody has to wait."""
        if self._follow_ups and self._follow_ups[0].due <= today:
            return heappop(self._follow_ups)
        turn, self._next_new = self._next_new, next(self._new, None) if self._next_new else None
        return turn

    def sent(self, turn: Turn, today: int) -> None:
        """The step has its slot on this day: the next is due so many days later."""
        _, number, step, prospect, campaign = turn
        if step < len(campaign.delay_days):
            heappush(self._follow_ups, Turn(today + campaign.delay_days[step], number, step + 1, prospect, campaign))

    def due(self) -> int | None:
        """From which day on there is something to send: 1, the first of all, if at once; None if all has been sent."""
        if self._next_new:
            return 1
        return self._follow_ups[0].due if self._follow_ups else None

    def count(self) -> int:
        """How many mails are left, as far as they are counted. New prospects are counted by reading them: afterwards
        there is nothing to take."""
        begun = sum(len(turn.campaign.delay_days) - turn.step + 1 for turn in self._follow_ups)
        new = [self._next_new] if self._next_new else []
        return begun + sum(len(turn.campaign.delay_days) for turn in islice(chain(new, self._new), COUNTED))

    def _add(self, campaign: Planned, number: int) -> Iterator[Turn]:
        """Keep who is under way; give those who are to begin, in turn."""
        first = number * _ROOM_FOR_PROSPECTS
        for position, each in enumerate(campaign.under_way, first):
            whole("under_way.step", each.step, least=2, most=len(campaign.delay_days))
            due = each.sent_on.toordinal() + campaign.delay_days[each.step - 1]
            heappush(self._follow_ups, Turn(due, position, each.step, each.prospect, campaign))
        after = first + len(self._follow_ups)
        new = enumerate(map(_checked, campaign.prospects), after)
        return (Turn(0, position, 1, prospect, campaign) for position, prospect in new)


def _check_day(name: str, given: object) -> None:
    if not isinstance(given, date) or isinstance(given, datetime):
        refuse(name, "a date", given, "give the window day: window_day_at(settings, instant)")


def _checked(prospect: str) -> str:
    return _check_prospect("prospects", prospect)


def _check_prospect(name: str, prospect: str) -> str:
    """The id, if it may be part of a key. A million are looked at: what is as it should be is not asked further."""
    if type(prospect) is not str or not prospect or SEPARATOR in prospect or not prospect.isprintable():
        check_id(name, prospect)
    return prospect


def _planned(given: object) -> Planned:
    if not isinstance(given, Planned):
        refuse("campaigns", "campaigns", given, "give each as Planned(id=…, prospects=…, delay_days=…)")
    return given

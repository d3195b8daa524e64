"""When the mails that wait will leave, by the plan: worked out at the launch, and anew when the settings change.

The plan is that of the agenda, over all running campaigns of the workspace and what has been sent so far. Prospects are
only numbers in it, eight octets each, and sixteen between two steps; slots are written some at a time, in the order of
time. What is written is a forecast: nothing leaves because of it, and cut short it does no harm.

A plan that cannot go on to the end, because the quota or a step of the ramp-up is 0, leaves mails without a slot. Those
have no time then, and least of all the one that an earlier plan gave them.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from itertools import islice
from random import Random
from typing import Any

from postroom.campaigns.arithmetic.turns import Planned, UnderWay
from postroom.campaigns.books.mails import store_clock
from postroom.campaigns.drafts.agenda import Agenda, standing_of
from postroom.campaigns.drafts.campaigns import campaigns_after
from postroom.campaigns.drafts.sequences import steps_of
from postroom.campaigns.values import Campaign
from postroom.errors import CannotFinish
from postroom.store.plan import Course, Plan, ask
from postroom.vocabulary import CampaignStatus

PAGE = 5_000
BATCH = 2_000


def replan(workspace: str, *, progress: Callable[[int], None] = lambda mails: None) -> Course[int]:
    """Work out anew when the waiting mails of a workspace will leave; of how many that is known."""
    agenda, running, now = yield _standing(workspace)
    campaigns: list[Planned] = []
    for campaign in running:
        campaigns += yield from _planned(workspace, campaign)
    agenda = replace(agenda, campaigns=tuple(campaigns))
    foreseen = _Foreseen(agenda, now, Random(workspace))
    known = yield from _write_all(workspace, foreseen, progress)
    if foreseen.cut_short:
        yield from _forget(workspace, running)
        known = yield from _write_all(workspace, _Foreseen(agenda, now, Random(workspace)), lambda mails: None)
    return known


class _Foreseen:
    """The slots of a plan, as far as it goes."""

    def __init__(self, agenda: Agenda, now: datetime, random: Random) -> None:
        self.cut_short = False
        """Mails are left that get no slot: the check has told so, and each of them does."""
        self.slots = self._as_far_as_it_goes(agenda, now, random)

    def _as_far_as_it_goes(self, agenda: Agenda, now: datetime, random: Random) -> Iterator[dict[str, Any]]:
        try:
            for slot in agenda.slots(now=now, random=random):
                yield {"campaign": slot.campaign, "number": int(slot.prospect), "step": slot.step, "at": slot.at}
        except CannotFinish:
            self.cut_short = True


def _write_all(workspace: str, foreseen: _Foreseen, progress: Callable[[int], None]) -> Course[int]:
    known = 0
    while batch := list(islice(foreseen.slots, BATCH)):
        yield _write(workspace, batch)
        known += len(batch)
        progress(len(batch))
    return known


def _forget(workspace: str, running: list[Campaign]) -> Course[None]:
    """Have no mail of these campaigns say when it leaves."""
    for campaign in running:
        for after in range(0, campaign.launched_to, BATCH):
            yield _forget_some(workspace, campaign.id, after)


def _forget_some(workspace: str, campaign: str, after: int) -> Plan[None]:
    yield ask("hold_paces", workspaces=[workspace], emails=[])
    yield ask("forget_planned", workspace=workspace, campaign=campaign, after=after, until=after + BATCH)


def _standing(workspace: str) -> Plan[tuple[Agenda, list[Campaign], datetime]]:
    """How the workspace stands, and which of its campaigns run, by their launch."""
    now = yield from store_clock()
    running = [each for each in (yield from _all_campaigns(workspace)) if each.status is CampaignStatus.RUNNING]
    running.sort(key=lambda each: (each.launched_at or now, each.id))
    return (yield from standing_of(workspace, [each.id for each in running])), running, now


def _all_campaigns(workspace: str) -> Plan[list[Campaign]]:
    found: list[Campaign] = []
    while page := (yield from campaigns_after(workspace, found[-1].id if found else "")):
        found.extend(page)
    return found


def _planned(workspace: str, campaign: Campaign) -> Course[list[Planned]]:
    """A campaign as the plan sees it: once for each version of the sequence that somebody is pinned to."""
    new: dict[int, array[int]] = defaultdict(lambda: array("q"))
    behind: dict[int, _Behind] = defaultdict(_Behind)
    for follow_up in (False, True):
        after = 0
        while rows := (yield _page(workspace, campaign.id, after, follow_up=follow_up)):
            for number, step, due_day, version in rows:
                if follow_up:
                    behind[version].append(number, step, due_day)
                else:
                    new[version].append(number)
            after = rows[-1][0]
    found: list[Planned] = []
    for version in sorted({*new, *behind}):
        delays = tuple(step.delay_days for step in (yield steps_of(workspace, campaign.sequence_id, version)))
        under_way = _UnderWay(behind[version], delays)
        found.append(Planned(id=campaign.id, prospects=_New(new[version]), delay_days=delays, under_way=under_way))
    return found


@dataclass(frozen=True, slots=True)
class _New:
    """Those still to get their first step. They can be gone through again, and nothing is kept beside the numbers."""

    numbers: array[int]

    def __iter__(self) -> Iterator[str]:
        return map(str, self.numbers)


@dataclass(slots=True)
class _Behind:
    """Who has had a step, which is the next, and from when on it is due."""

    numbers: array[int] = field(default_factory=lambda: array("q"))
    steps: array[int] = field(default_factory=lambda: array("i"))
    due_days: array[int] = field(default_factory=lambda: array("i"))

    def append(self, number: int, step: int, due_day: date) -> None:
        self.numbers.append(number)
        self.steps.append(step)
        self.due_days.append(due_day.toordinal())


@dataclass(frozen=True, slots=True)
class _UnderWay:
    """Those between two steps, likewise."""

    rows: _Behind
    delays: tuple[int, ...]

    def __iter__(self) -> Iterator[UnderWay]:
        for number, step, due_day in zip(self.rows.numbers, self.rows.steps, self.rows.due_days, strict=True):
            sent_on = date.fromordinal(due_day - self.delays[step - 1])
            yield UnderWay(prospect=str(number), step=step, sent_on=sent_on)


def _page(workspace: str, campaign: str, after: int, *, follow_up: bool) -> Plan[list[tuple[int, int, date, int]]]:
    rows = yield ask(
        "to_be_planned", workspace=workspace, campaign=campaign, after=after, follow_up=follow_up, limit=PAGE
    )
    return [(int(number), step, date.fromisoformat(due_day), version) for number, step, due_day, version in rows]


def _write(workspace: str, slots: list[dict[str, Any]]) -> Plan[None]:
    yield ask("hold_paces", workspaces=[workspace], emails=[])
    yield ask("plan_mails", workspace=workspace, slots=slots)

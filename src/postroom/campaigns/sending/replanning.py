"""When the mails that wait will leave, by the plan: worked out at the launch, and anew when the settings change.

The plan is that of the agenda, over all running campaigns of the workspace and what has been sent so far. Prospects are
only numbers in it, eight octets each; slots are written some at a time, in the order of time. What is written is a
forecast: nothing leaves because of it, and cut short it does no harm.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import date, datetime, timedelta
from itertools import islice
from random import Random
from typing import Any

from postroom.campaigns.arithmetic.plan import Slot
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
    known, written = 0, _as_far_as_it_goes(agenda.slots(now=now, random=Random(workspace)))
    while batch := list(islice(written, BATCH)):
        yield _write(workspace, batch)
        known += len(batch)
        progress(len(batch))
    return known


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
    behind: dict[int, list[tuple[int, int, date]]] = defaultdict(list)
    for follow_up in (False, True):
        after = 0
        while rows := (yield _page(workspace, campaign.id, after, follow_up=follow_up)):
            for number, step, due_day, version in rows:
                if follow_up:
                    behind[version].append((number, step, due_day))
                else:
                    new[version].append(number)
            after = rows[-1][0]
    found: list[Planned] = []
    for version in sorted({*new, *behind}):
        delays = tuple(step.delay_days for step in (yield steps_of(workspace, campaign.sequence_id, version)))
        under_way = _under_way(behind[version], delays)
        found.append(Planned(id=campaign.id, prospects=map(str, new[version]), delay_days=delays, under_way=under_way))
    return found


def _under_way(rows: Iterable[tuple[int, int, date]], delays: tuple[int, ...]) -> Iterator[UnderWay]:
    for number, step, due_day in rows:
        yield UnderWay(prospect=str(number), step=step, sent_on=due_day - timedelta(days=delays[step - 1]))


def _page(workspace: str, campaign: str, after: int, *, follow_up: bool) -> Plan[list[tuple[int, int, date, int]]]:
    rows = yield ask(
        "to_be_planned", workspace=workspace, campaign=campaign, after=after, follow_up=follow_up, limit=PAGE
    )
    return [(int(number), step, date.fromisoformat(due_day), version) for number, step, due_day, version in rows]


def _as_far_as_it_goes(slots: Iterable[Slot]) -> Iterator[dict[str, Any]]:
    try:
        for slot in slots:
            yield {"campaign": slot.campaign, "number": int(slot.prospect), "step": slot.step, "at": slot.at}
    except CannotFinish:
        return  # the check has told, and so does every mail that waits


def _write(workspace: str, slots: list[dict[str, Any]]) -> Plan[None]:
    yield ask("hold_paces", workspaces=[workspace], emails=[])
    yield ask("plan_mails", workspace=workspace, slots=slots)

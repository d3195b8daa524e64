"""All that says when the mail of a workspace will leave, if nothing comes between: the plan, and what it goes by.

Whatever looks ahead goes by this: the forecast of a draft, the pages, the API, and the times that a launch writes down.
So they foresee the same. Of prospects only their number is asked, so it costs the same memory for a hundred and for a
million.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import partial
from itertools import groupby
from random import Random

from postroom.campaigns.arithmetic.impasse import impasse
from postroom.campaigns.arithmetic.plan import Slot, plan
from postroom.campaigns.arithmetic.quota import allowance
from postroom.campaigns.arithmetic.settings import RampUp, SendingSettings
from postroom.campaigns.arithmetic.turns import Planned, UnderWay
from postroom.campaigns.arithmetic.window import local_date, window_day_at
from postroom.campaigns.books.counting import days_counted
from postroom.campaigns.books.mails import beat_of
from postroom.campaigns.drafts.campaigns import (
    Waiting,
    senders_of,
    waiting_if_it_went_on,
    waiting_in_running_campaigns,
)
from postroom.campaigns.drafts.sequences import get_sequence, steps_of
from postroom.campaigns.drafts.whole import Draft
from postroom.campaigns.drafts.workspace import workspace_settings
from postroom.campaigns.values import Sender
from postroom.errors import CannotFinish
from postroom.store.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Agenda:
    """Some campaigns of a workspace, and how the workspace stands."""

    settings: SendingSettings
    campaigns: tuple[Planned, ...] = ()
    """In the order of their launch; to be gone through once."""
    senders: Mapping[str, Sender] = field(default_factory=dict)
    """Who sends them, by id."""
    people: Mapping[str, int] = field(default_factory=dict)
    """Who is still to get something, by campaign …"""
    waiting: Mapping[str, int] = field(default_factory=dict)
    """… and about how many mails are still to leave."""
    used: Mapping[date, int] = field(default_factory=dict)
    """What counts against the days, accepted or in flight."""
    accepted: tuple[date, ...] = ()
    """The days on which mail was accepted: those of the ramp-up."""
    last: datetime | None = None
    """When the last mail left."""

    @property
    def mails(self) -> int:
        """About how many are still to leave of all campaigns."""
        return sum(self.waiting.values())

    @property
    def bounded(self) -> SendingSettings:
        """The settings, with no more a day than the senders may send together."""
        return beneath_senders(self.settings, tuple(self.senders.values()))

    def today(self, now: datetime) -> date:
        """The present window day; the date, where no window is open."""
        return window_day_at(self.settings, now) or local_date(self.settings, now)

    def sent_days(self, now: datetime) -> int:
        """Earlier days of the ramp-up."""
        return sum(day < self.today(now) for day in self.accepted)

    def slots(self, *, now: datetime, random: Random) -> Iterator[Slot]:
        """When each mail leaves, in the order of time."""
        bounded, sent_days = self.bounded, self.sent_days(now)
        held = partial(impasse, now=now, sent_days=sent_days, used=self.used.get(self.today(now), 0))
        try:
            yield from plan(
                bounded, self.campaigns, now=now, random=random, used=self.used, sent_days=sent_days, last=self.last
            )
        except CannotFinish as error:
            if held(bounded) is None or held(self.settings) is not None:
                raise
            reason = "the senders of these campaigns may together send 0 mails a day"
            remedy = "raise their own daily quotas, or the steps of their ramp-ups"
            raise CannotFinish(error.left, reason, remedy) from error

    def with_draft(self, draft: Draft, prospects: int) -> Agenda:
        """The same with one more campaign, as if it were launched now to so many prospects."""
        steps = draft.sequence.delay_days
        return replace(
            self,
            campaigns=(
                *self.campaigns,
                Planned(id=draft.campaign.id, prospects=map(str, range(prospects)), delay_days=steps),
            ),
            senders={**self.senders, **{each.id: each for each in draft.senders}},
            people={**self.people, draft.campaign.id: prospects},
            waiting={**self.waiting, draft.campaign.id: prospects * len(steps)},
        )


def agenda_of(workspace: str, *, besides: str = "") -> Plan[Agenda]:
    """The campaigns that run; and `besides` one that is paused or was cancelled, as if it went on now."""
    waiting = yield from waiting_in_running_campaigns(workspace)
    if besides:
        waiting += yield from waiting_if_it_went_on(workspace, besides)
        waiting = tuple(sorted(waiting, key=_turn))
    campaigns: list[Planned] = []
    people: Counter[str] = Counter()
    mails: Counter[str] = Counter()
    for (campaign, sequence, version), those in groupby(waiting, key=_pinned):
        delays = yield from _delays(workspace, sequence, version)
        alike = list(those)
        campaigns.append(_planned(campaign, delays, alike))
        people[campaign] += sum(each.count for each in alike)
        mails[campaign] += sum(each.count * (1 + len(delays) - each.next_step) for each in alike)
    standing = yield from standing_of(workspace, people)
    return replace(standing, campaigns=tuple(campaigns), people=people, waiting=mails)


def standing_of(workspace: str, campaigns: Iterable[str]) -> Plan[Agenda]:
    """How the workspace stands, for campaigns that the caller knows."""
    senders: dict[str, Sender] = {}
    for id in campaigns:
        senders |= {each.id: each for each in (yield from senders_of(workspace, id))}
    days = yield from days_counted(workspace)
    return Agenda(
        settings=(yield from workspace_settings(workspace)).sending,
        senders=senders,
        used={each.day: each.used for each in days},
        accepted=tuple(each.day for each in days if each.accepted),
        last=(yield from beat_of(workspace)).last,
    )


def _turn(waiting: Waiting) -> tuple[datetime, str]:
    """Campaigns go by their launch, and one that goes on keeps its place."""
    return waiting.launched_at, waiting.campaign_id


def _pinned(waiting: Waiting) -> tuple[str, str, int | None]:
    return waiting.campaign_id, waiting.sequence_id, waiting.sequence_version


def _delays(workspace: str, sequence: str, version: int | None) -> Plan[tuple[int, ...]]:
    """Of the version that somebody is pinned to, or would be by a launch now."""
    if version is None:
        return (yield from get_sequence(workspace, sequence)).delay_days
    return tuple(step.delay_days for step in (yield from steps_of(workspace, sequence, version)))


def _planned(campaign: str, delays: tuple[int, ...], waiting: Sequence[Waiting]) -> Planned:
    new = sum(each.count for each in waiting if each.last_sent_on is None)
    under_way = (
        UnderWay(prospect=str(number), step=each.next_step, sent_on=each.last_sent_on)
        for each in waiting
        if each.last_sent_on is not None
        for number in range(each.count)
    )
    return Planned(id=campaign, prospects=map(str, range(new)), delay_days=delays, under_way=under_way)


# ---------------------------------------------------------------- what senders may


def beneath_senders(settings: SendingSettings, senders: Sequence[Sender]) -> SendingSettings:
    """The settings with no more a day than the senders may send together, where each of them has a quota."""
    longest = max((len(sender.ramp_up.schedule) for sender in senders if sender.ramp_up), default=0)
    together = [_together(senders, day) for day in range(1, longest + 2)]
    if all(each is None for each in together):
        return settings
    ramp = len(settings.ramp_up.schedule) if settings.ramp_up else 0
    days = [
        _least(allowance(settings, day), together[min(day, len(together)) - 1])
        for day in range(1, max(longest, ramp) + 1)
    ]
    quota = _least(settings.daily_quota, together[-1])
    return replace(settings, daily_quota=quota, ramp_up=RampUp(schedule=tuple(days)) if days else None)


def _together(senders: Sequence[Sender], day: int) -> int | None:
    """What the senders may send on a day of their ramp-ups; None where one of them knows no bound."""
    bounds = [_bound(sender, day) for sender in senders]
    return None if None in bounds or not bounds else sum(each for each in bounds if each is not None)


def _bound(sender: Sender, day: int) -> int | None:
    schedule = sender.ramp_up.schedule if sender.ramp_up else ()
    bounds = [each for each in (sender.daily_quota, *schedule[day - 1 : day]) if each is not None]
    return min(bounds, default=None)


def _least(one: int, other: int | None) -> int:
    return one if other is None else min(one, other)

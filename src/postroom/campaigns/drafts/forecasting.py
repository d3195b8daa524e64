"""When a campaign would begin and end, day by day, if it were launched now.

The forecast is the plan itself, counted. It asks nothing of prospects but how many there are, so it costs the same
memory for a hundred and for a million. Campaigns that run already come first, as they would.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from itertools import groupby
from random import Random

from postroom.campaigns.arithmetic.plan import Slot, plan
from postroom.campaigns.arithmetic.quota import allowance
from postroom.campaigns.arithmetic.settings import RampUp, SendingSettings
from postroom.campaigns.arithmetic.turns import Planned, UnderWay
from postroom.campaigns.arithmetic.window import Opening, window_at
from postroom.campaigns.drafts.campaigns import Waiting, waiting_in_running_campaigns
from postroom.campaigns.drafts.sequences import steps_of
from postroom.campaigns.drafts.whole import Draft, whole_draft
from postroom.campaigns.values import Sender
from postroom.errors import CannotFinish
from postroom.store.plan import Plan
from postroom.vocabulary import CampaignStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastDay:
    """One window day on which mail leaves."""

    day: date
    planned: int
    """Mails of the campaign."""
    others: int
    """Mails of campaigns that run already."""
    allowance: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What would become of a campaign."""

    campaign: str
    prospects: int
    steps: int
    timezone: str
    days: tuple[ForecastDay, ...]
    """Those on which it has mail."""
    first: datetime | None
    last: datetime | None
    left: int = 0
    """Mails that would never leave …"""
    reason: str = ""
    """… why, and what to do about it."""

    @property
    def mails(self) -> int:
        """Those that have a day."""
        return sum(day.planned for day in self.days)

    @property
    def ends_on(self) -> date | None:
        return self.days[-1].day if self.days and not self.left else None

    @property
    def busiest(self) -> int:
        """The most on one day."""
        return max((day.planned for day in self.days), default=0)


def forecast_of(workspace: str, id: str, *, now: datetime) -> Plan[Forecast]:
    """The forecast of a campaign over what is stored. The same data gives the same forecast at the same time."""
    draft = yield from whole_draft(workspace, id)
    running = yield from running_campaigns(workspace)
    return forecast(draft, now=now, running=running, random=Random(f"{workspace}:{id}"))


def forecast(draft: Draft, *, now: datetime, random: Random, running: Sequence[Planned] = ()) -> Forecast:
    """The plan of a draft behind the campaigns that run, counted by window day; or of one that runs itself."""
    id, steps = draft.campaign.id, draft.sequence.delay_days
    settings = beneath_senders(draft.settings.sending, draft.senders)
    campaigns = list(running)
    if draft.campaign.status is CampaignStatus.DRAFT:
        campaigns.append(Planned(id=id, prospects=map(str, range(draft.prospects)), delay_days=steps))
    counted = _Counted(settings=settings, campaign=id)
    left, reason = 0, ""
    try:
        counted.go_through(plan(settings, campaigns, now=now, random=random))
    except CannotFinish as error:
        left, reason = _left_over(draft, counted, error), f"{error.reason}; {error.remedy}"
    return Forecast(
        campaign=id,
        prospects=draft.prospects,
        steps=len(steps),
        timezone=settings.timezone,
        days=tuple(counted.of_campaign()),
        first=counted.first,
        last=counted.last,
        left=left,
        reason=reason,
    )


def _left_over(draft: Draft, counted: _Counted, error: CannotFinish) -> int:
    """Of a draft, its own mails without a day; the plan counts those of other campaigns among them."""
    if draft.campaign.status is not CampaignStatus.DRAFT:
        return error.left
    return draft.prospects * len(draft.sequence.steps) - sum(counted.planned.values())


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


@dataclass(slots=True)
class _Counted:
    """Slots by window day."""

    settings: SendingSettings
    campaign: str
    planned: dict[date, int] = field(default_factory=dict)
    others: dict[date, int] = field(default_factory=dict)
    first: datetime | None = None
    last: datetime | None = None

    def go_through(self, slots: Iterable[Slot]) -> None:
        opening: Opening | None = None
        for slot in slots:
            # Asked once for each window, and not for each mail: slots come in the order of time.
            if opening is None or slot.at >= opening.close:
                opening = window_at(self.settings, slot.at)
                assert opening is not None, "every slot lies in a window"
            if slot.campaign == self.campaign:
                self.first, self.last = self.first or slot.at, slot.at
                self.planned[opening.day] = self.planned.get(opening.day, 0) + 1
            else:
                self.others[opening.day] = self.others.get(opening.day, 0) + 1

    def of_campaign(self) -> Iterator[ForecastDay]:
        """The days of the campaign; each day with mail, whosever it is, is a day of the ramp-up."""
        for ramp_day, day in enumerate(sorted(self.planned.keys() | self.others.keys()), 1):
            if planned := self.planned.get(day):
                allowed = allowance(self.settings, ramp_day)
                yield ForecastDay(day=day, planned=planned, others=self.others.get(day, 0), allowance=allowed)


def running_campaigns(workspace: str) -> Plan[list[Planned]]:
    """The campaigns that run, as the plan sees them: how many wait for which step, and since when."""
    found: list[Planned] = []
    waiting = yield from waiting_in_running_campaigns(workspace)
    for (campaign, sequence, version), those in groupby(waiting, key=_pinned):
        delays = tuple(step.delay_days for step in (yield from steps_of(workspace, sequence, version)))
        found.append(_planned(campaign, delays, list(those)))
    return found


def _pinned(waiting: Waiting) -> tuple[str, str, int]:
    return waiting.campaign_id, waiting.sequence_id, waiting.sequence_version


def _planned(campaign: str, delays: tuple[int, ...], waiting: Sequence[Waiting]) -> Planned:
    new = sum(each.count for each in waiting if each.last_sent_on is None)
    under_way = (
        UnderWay(prospect=str(number), step=each.next_step, sent_on=each.last_sent_on)
        for each in waiting
        if each.last_sent_on is not None
        for number in range(each.count)
    )
    return Planned(id=campaign, prospects=map(str, range(new)), delay_days=delays, under_way=under_way)

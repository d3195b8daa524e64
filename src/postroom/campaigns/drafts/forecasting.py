"""What the plan foresees, counted by campaign and window day. Pure, and for a thread: a second for ten thousands of
mails.

A forecast is of one campaign: of a draft as if it were launched now, behind the campaigns that run already, as it would
be; of one that is paused as if it were resumed now, and of one that was cancelled as if it were launched again, and it
says so. An outlook is of all that run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from random import Random

from postroom.campaigns.arithmetic.quota import allowance
from postroom.campaigns.arithmetic.window import Opening, window_at
from postroom.campaigns.drafts.agenda import Agenda, agenda_of
from postroom.campaigns.drafts.passing import LeftOut, left_out
from postroom.campaigns.drafts.whole import Draft, whole_draft
from postroom.errors import CannotFinish
from postroom.store.plan import Plan
from postroom.vocabulary import CampaignStatus

SOON = 20
"""Mails of each campaign that are told one by one."""
_SUPPOSING = {
    CampaignStatus.PAUSED: "it is paused: this is what becomes of it if it is resumed now",
    CampaignStatus.CANCELLED: "it was cancelled: this is what becomes of it if it is launched again now",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastDay:
    """One window day on which mail of a campaign leaves."""

    day: date
    planned: int
    """Mails of the campaign, still to leave."""
    others: int
    """Mails of other campaigns of the workspace, still to leave."""
    used: int
    """Mails that count against the day already."""
    allowance: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """When what is still to leave will leave, if nothing comes between."""

    planned: Mapping[str, Mapping[date, int]] = field(default_factory=dict)
    """Mails by campaign and window day."""
    soon: Mapping[str, tuple[tuple[datetime, int], ...]] = field(default_factory=dict)
    """The next mails of each campaign: when, and which step."""
    first: Mapping[str, datetime] = field(default_factory=dict)
    last: Mapping[str, datetime] = field(default_factory=dict)
    left: int = 0
    """Mails that would never leave …"""
    reason: str = ""
    """… and why; or why nobody has looked."""
    unseen: int = 0
    """Mails that are too many to look ahead at: nothing is known of when they leave."""

    def of(self, campaign: str) -> Mapping[date, int]:
        return self.planned.get(campaign, {})

    def beside(self, campaign: str) -> Mapping[date, int]:
        """What other campaigns send on each day."""
        found: dict[date, int] = defaultdict(int)
        for id, days in self.planned.items():
            for day, count in days.items() if id != campaign else ():
                found[day] += count
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Outset:
    """All that a forecast of a campaign goes by."""

    draft: Draft
    agenda: Agenda
    """What runs already; and the campaign itself where it was launched, running or not."""
    left_out: LeftOut = field(default_factory=LeftOut)
    """Who would get nothing of a launch, where it is still to be launched."""

    @property
    def prospects(self) -> int:
        """Who would get mail, or more of it."""
        if self.draft.campaign.unlaunched:
            return self.draft.prospects - sum(self.left_out.passed_over.values()) - self.left_out.paused
        return self.agenda.people.get(self.draft.campaign.id, 0)

    @property
    def mails(self) -> int:
        """About how many are to be planned."""
        own = self.prospects * len(self.draft.sequence.steps)
        return self.agenda.mails + (own if self.draft.campaign.unlaunched else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What would become of a campaign."""

    campaign: str
    status: CampaignStatus
    prospects: int
    """Those who would get mail, or more of it."""
    steps: int
    timezone: str
    days: tuple[ForecastDay, ...] = ()
    """Those on which it has mail."""
    skipped: Mapping[str, int] = field(default_factory=dict)
    """Prospects of a draft who get nothing, by reason."""
    soon: tuple[tuple[datetime, int], ...] = ()
    """Its next mails: when, and which step."""
    first: datetime | None = None
    last: datetime | None = None
    left: int = 0
    """Mails that would never leave …"""
    reason: str = ""
    """… why, and what to do about it; or why nobody has looked."""

    @property
    def supposing(self) -> str:
        """What somebody would have to do for it to come true; empty where nothing, or no more than to launch it."""
        return _SUPPOSING.get(self.status, "")

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
    return forecast((yield from outset_of(workspace, id)), now=now, random=chance_of(workspace, id))


def outset_of(workspace: str, id: str) -> Plan[Outset]:
    """All that a forecast of a campaign goes by, read in one transaction."""
    draft = yield from whole_draft(workspace, id)
    return Outset(
        draft=draft,
        agenda=(yield from agenda_of(workspace, besides="" if draft.campaign.unlaunched else id)),
        left_out=(yield from left_out(workspace, draft.campaign)) if draft.campaign.unlaunched else LeftOut(),
    )


def chance_of(workspace: str, id: str) -> Random:
    """What chance draws for a campaign, wherever its forecast is asked for."""
    return Random(f"{workspace}:{id}")


def forecast(outset: Outset, *, now: datetime, random: Random, most: int | None = None) -> Forecast:
    """When a draft would leave, behind what is on the agenda; or a campaign that is on it itself."""
    draft, agenda = outset.draft, outset.agenda
    id, drafted = draft.campaign.id, draft.campaign.unlaunched
    if drafted:
        agenda = agenda.with_draft(draft, outset.prospects)
    outlook = look_ahead(agenda, now=now, random=random, most=most)
    days = tuple(_days(id, outlook, agenda, now))
    left = outlook.left
    if left:  # those of other campaigns are among them
        left = agenda.waiting.get(id, 0) - sum(day.planned for day in days)
    return Forecast(
        campaign=id,
        status=draft.campaign.status,
        prospects=outset.prospects,
        skipped=outset.left_out.passed_over,
        steps=len(draft.sequence.steps),
        timezone=agenda.settings.timezone,
        days=days,
        soon=outlook.soon.get(id, ()),
        first=outlook.first.get(id),
        last=outlook.last.get(id),
        left=left,
        reason=outlook.reason,
    )


def _days(id: str, outlook: Outlook, agenda: Agenda, now: datetime) -> Iterator[ForecastDay]:
    """Each day with mail, whosever it is, is a day of the ramp-up."""
    settings, today = agenda.bounded, agenda.today(now)
    planned, others = outlook.of(id), outlook.beside(id)
    used = {day: count for day, count in agenda.used.items() if count and day >= today}
    for ramp_day, day in enumerate(sorted({*planned, *others, *used}), 1 + agenda.sent_days(now)):
        if day in planned:
            yield ForecastDay(
                day=day,
                planned=planned[day],
                others=others.get(day, 0),
                used=used.get(day, 0),
                allowance=allowance(settings, ramp_day),
            )


def look_ahead(agenda: Agenda, *, now: datetime, random: Random, most: int | None = None) -> Outlook:
    """The plan, counted. The same at the same time, with the same chance. Of more mails than `most`, nothing is known:
    whoever waits for an answer has not got the time."""
    if most is not None and agenda.mails > most:
        told = f"{agenda.mails:,} mails are still to leave, too many to look ahead at here"
        return Outlook(reason=f"{told}; `postroom campaign forecast` works it out", unseen=agenda.mails)
    planned: dict[str, dict[date, int]] = defaultdict(lambda: defaultdict(int))
    soon: dict[str, tuple[tuple[datetime, int], ...]] = defaultdict(tuple)
    first: dict[str, datetime] = {}
    last: dict[str, datetime] = {}
    left, reason = 0, ""
    within: Opening | None = None
    try:
        for slot in agenda.slots(now=now, random=random):
            # Asked once for each window, and not for each mail: slots come in the order of time.
            if within is None or slot.at >= within.close:
                within = window_at(agenda.settings, slot.at)
                assert within is not None, "every slot lies in a window"
            planned[slot.campaign][within.day] += 1
            first.setdefault(slot.campaign, slot.at)
            last[slot.campaign] = slot.at
            if len(soon[slot.campaign]) < SOON:
                soon[slot.campaign] += ((slot.at, slot.step),)
    except CannotFinish as error:
        left, reason = error.left, f"{error.reason}; {error.remedy}"
    days = {campaign: dict(counts) for campaign, counts in planned.items()}
    return Outlook(planned=days, soon=dict(soon), first=first, last=last, left=left, reason=reason)

"""When the mails of one campaign leave if nothing comes between: the plan of its workspace, of which it is a part.

Pure, and for a thread: a second for ten thousands of mails.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from random import Random

from postroom.campaigns.arithmetic.plan import Slot, plan
from postroom.campaigns.arithmetic.quota import allowance
from postroom.campaigns.arithmetic.settings import SendingSettings
from postroom.campaigns.arithmetic.turns import Planned
from postroom.campaigns.arithmetic.window import Opening, local_date, window_at
from postroom.campaigns.drafts.forecasting import beneath_senders
from postroom.campaigns.drafts.whole import Draft
from postroom.errors import CannotFinish
from postroom.operate.campaign_looks import Drafted
from postroom.vocabulary import CampaignStatus

MOST = 200_000
"""Mails that are planned within a request; more take too long."""
SOON = 20
"""Mails that are told one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanDay:
    """A window day on which mail of the campaign leaves."""

    day: date
    planned: int
    """Mails of the campaign, still to leave."""
    others: int
    """Mails of other campaigns of the workspace, still to leave."""
    used: int
    """Mails that count against the day already."""
    allowance: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulePlan:
    """What is still to leave of a campaign."""

    timezone: str
    days: tuple[PlanDay, ...] = ()
    soon: tuple[tuple[datetime, int], ...] = ()
    """The next mails: when, and which step."""
    last: datetime | None = None
    left: int = 0
    """Mails that would never leave …"""
    reason: str = ""
    """… and why; or why there is no plan."""

    @property
    def planned(self) -> int:
        return sum(each.planned for each in self.days)


def schedule_plan(found: Drafted, *, now: datetime) -> SchedulePlan:
    """The plan of a campaign that runs, or of a draft as if it were launched now; of any other, nothing is to leave."""
    running, campaign = found.running, found.draft.campaign
    drafted = campaign.status is CampaignStatus.DRAFT
    mails = running.mails + (found.draft.prospects * len(found.draft.sequence.steps) if drafted else 0)
    settings = running.settings
    if drafted and not running.campaigns:
        settings = beneath_senders(found.draft.settings.sending, found.draft.senders)
    if mails > MOST:
        reason = f"{mails:,} mails are still to leave, too many to be planned within a request"
        return SchedulePlan(timezone=settings.timezone, reason=reason)
    campaigns = (*running.campaigns, *([_planned(found.draft)] if drafted else ()))
    opening = window_at(settings, now)
    today = opening.day if opening else local_date(settings, now)
    earlier = sum(day < today for day in running.accepted)
    slots = plan(
        settings,
        campaigns,
        now=now,
        random=Random(campaign.id),
        used=running.used,
        sent_days=earlier,
        last=running.last,
    )
    used = {day: count for day, count in running.used.items() if count and day >= today}
    counted = _Counted(settings=settings, campaign=campaign.id)
    left, reason = counted.go_through(slots)
    return SchedulePlan(
        timezone=settings.timezone,
        days=tuple(counted.days_of_campaign(used, earlier)),
        soon=tuple(counted.soon),
        last=counted.last,
        left=left,
        reason=reason,
    )


def _planned(draft: Draft) -> Planned:
    prospects = map(str, range(draft.prospects))
    return Planned(id=draft.campaign.id, prospects=prospects, delay_days=draft.sequence.delay_days)


@dataclass(slots=True)
class _Counted:
    """Slots by window day."""

    settings: SendingSettings
    campaign: str
    planned: dict[date, int] = field(default_factory=dict)
    others: dict[date, int] = field(default_factory=dict)
    soon: list[tuple[datetime, int]] = field(default_factory=list)
    last: datetime | None = None

    def go_through(self, slots: Iterator[Slot]) -> tuple[int, str]:
        """How many would never leave, and why."""
        opening: Opening | None = None
        try:
            for slot in slots:
                # Asked once for each window, and not for each mail: slots come in the order of time.
                if opening is None or slot.at >= opening.close:
                    opening = window_at(self.settings, slot.at)
                    assert opening is not None, "every slot lies in a window"
                self._count(slot, opening.day)
        except CannotFinish as error:
            return error.left, f"{error.reason}; {error.remedy}"
        return 0, ""

    def _count(self, slot: Slot, day: date) -> None:
        if slot.campaign != self.campaign:
            self.others[day] = self.others.get(day, 0) + 1
            return
        self.planned[day] = self.planned.get(day, 0) + 1
        self.last = slot.at
        if len(self.soon) < SOON:
            self.soon.append((slot.at, slot.step))

    def days_of_campaign(self, used: Mapping[date, int], earlier: int) -> Iterator[PlanDay]:
        """Each day with mail, whosever it is, is a day of the ramp-up; `used` is of the present day and later ones."""
        for ramp_day, day in enumerate(sorted(self.planned.keys() | self.others.keys() | used.keys()), 1 + earlier):
            if planned := self.planned.get(day):
                yield PlanDay(
                    day=day,
                    planned=planned,
                    others=self.others.get(day, 0),
                    used=used.get(day, 0),
                    allowance=allowance(self.settings, ramp_day),
                )

"""What is still to leave of the campaigns of a workspace, by window day: the plan, counted. Pure, and for a thread."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from random import Random

from postroom.campaigns.arithmetic.plan import plan
from postroom.campaigns.arithmetic.window import Opening, local_date, window_at
from postroom.errors import CannotFinish
from postroom.operate.campaign_looks import Running

MOST = 60_000
"""Mails that are looked ahead at; a plan of more takes seconds, and a page has not got them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """When what is still to leave will leave, if nothing comes between."""

    planned: Mapping[str, Mapping[date, int]] = field(default_factory=dict)
    """Mails by campaign and window day."""
    first: Mapping[str, datetime] = field(default_factory=dict)
    """The next mail of each campaign …"""
    last: Mapping[str, datetime] = field(default_factory=dict)
    """… and its last."""
    left: int = 0
    """Mails that would never leave …"""
    reason: str = ""
    """… and why; or why nobody has looked."""

    def of(self, campaign: str) -> Mapping[date, int]:
        return self.planned.get(campaign, {})

    def beside(self, campaign: str) -> Mapping[date, int]:
        """What other campaigns send on each day."""
        found: dict[date, int] = defaultdict(int)
        for id, days in self.planned.items():
            for day, count in days.items() if id != campaign else ():
                found[day] += count
        return found


def look_ahead(running: Running, *, now: datetime) -> Outlook:
    """The plan of the campaigns that run. The same at the same time; takes a second for ten thousands of mails."""
    if running.mails > MOST:
        return Outlook(reason=f"{running.mails:,} mails are still to leave, too many to look ahead on a page")
    settings = running.settings
    opening = window_at(settings, now)
    today = opening.day if opening else local_date(settings, now)
    planned: dict[str, dict[date, int]] = defaultdict(lambda: defaultdict(int))
    first: dict[str, datetime] = {}
    last: dict[str, datetime] = {}
    left, reason = 0, ""
    slots = plan(
        settings,
        running.campaigns,
        now=now,
        random=Random("outlook"),
        used=running.used,
        sent_days=sum(day < today for day in running.accepted),
        last=running.last,
    )
    within: Opening | None = None
    try:
        for slot in slots:
            # Asked once for each window, and not for each mail: slots come in the order of time.
            if within is None or slot.at >= within.close:
                within = window_at(settings, slot.at)
                assert within is not None, "every slot lies in a window"
            planned[slot.campaign][within.day] += 1
            first.setdefault(slot.campaign, slot.at)
            last[slot.campaign] = slot.at
    except CannotFinish as error:
        left, reason = error.left, f"{error.reason}; {error.remedy}"
    return Outlook(planned=planned, first=first, last=last, left=left, reason=reason)

"""Whether a mail of a campaign may leave at this instant: what the plan foresees, asked again when it is time.

Plan and gate use the same windows, allowances and gaps: a slot of a plan is not refused when it comes, if nothing but
the plan has happened in between.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta

from postroom.campaigns.arithmetic.pace import free_from
from postroom.campaigns.arithmetic.quota import allowance, ramp_holds
from postroom.campaigns.arithmetic.settings import SendingSettings
from postroom.campaigns.arithmetic.window import Opening, in_utc, local_date, next_open, window_at
from postroom.campaigns.checks import whole
from postroom.vocabulary import WaitReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Permit:
    """A mail may leave now."""

    day: date
    """The window day whose quota it counts against."""
    ramp_day: int
    left: int
    """How many may leave on that day, this one included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """No mail may leave now."""

    reason: WaitReason
    until: datetime | None
    """When to ask again, in UTC; None if nothing will leave until the settings change."""
    detail: str = ""
    """What the reason is about: `50/50`, or the day of the ramp-up."""
    never: str = ""
    """Why it will never leave as things are, and what to do about it; empty where it may."""

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})" if self.detail else str(self.reason)


def gate(
    settings: SendingSettings,
    *,
    now: datetime,
    used: int,
    sent_days: int,
    last: datetime | None = None,
    gap: timedelta = timedelta(0),
) -> Permit | Wait:
    """Whether a mail may leave at `now`; else why not, and when to ask again. One reason is told, the widest first.

    `used` counts the mails accepted or in flight on the window day that `now` belongs to, `sent_days` the window days
    before it on which mail was accepted. `last` is the instant of the last mail and `gap` what was drawn after it.
    """
    now = in_utc("now", now)
    whole("used", used, least=0)
    last = None if last is None else in_utc("last", last)
    opening = window_at(settings, now)
    if opening is None:
        return _closed(settings, now)
    ramp_day = 1 + whole("sent_days", sent_days, least=0)
    allowed = allowance(settings, ramp_day)
    if used >= allowed:
        return _used_up(settings, opening, used=used, ramp_day=ramp_day)
    free = free_from(settings, opening, last=last, gap=gap, first=not used)
    if now < free:
        return Wait(reason=WaitReason.GAP, until=next_open(settings, free))
    return Permit(day=opening.day, ramp_day=ramp_day, left=allowed - used)


def _closed(settings: SendingSettings, now: datetime) -> Wait:
    holiday = local_date(settings, now) in settings.closed_dates
    return Wait(reason=WaitReason.HOLIDAY if holiday else WaitReason.WINDOW_CLOSED, until=next_open(settings, now))


def _used_up(settings: SendingSettings, opening: Opening, *, used: int, ramp_day: int) -> Wait:
    """Until the next window, unless that cannot bring more: without mail today its allowance is the same 0."""
    allowed = allowance(settings, ramp_day)
    hopeless = not settings.daily_quota or not (used or allowed)
    until = None if hopeless else next_open(settings, opening.close)
    if ramp_holds(settings, ramp_day):
        return Wait(reason=WaitReason.RAMP_DAY, detail=f"{ramp_day}", until=until)
    return Wait(reason=WaitReason.QUOTA_USED, detail=f"{used}/{allowed}", until=until)

"""How much may leave on a window day."""

from __future__ import annotations

from postroom.campaigns.arithmetic.settings import SendingSettings
from postroom.campaigns.checks import whole


def allowance(settings: SendingSettings, ramp_day: int) -> int:
    """How many mails may leave on this day of the ramp-up, those of all campaigns together; never above the quota.

    `ramp_day` is 1 and the number of earlier window days on which at least one mail was accepted: weekends, holidays
    and pauses do not advance it.
    """
    whole("ramp_day", ramp_day, least=1)
    schedule = settings.ramp_up.schedule if settings.ramp_up else ()
    return min([settings.daily_quota, *schedule[ramp_day - 1 : ramp_day]])


def ramp_holds(settings: SendingSettings, ramp_day: int) -> bool:
    """On this day it is the ramp-up, and not the quota, that says how much may leave."""
    return allowance(settings, ramp_day) < settings.daily_quota

"""Why nothing will ever leave with some settings, and what to do about it: told alike wherever it is told.

It is no wait: no time that passes brings a mail, for days without mail do not advance a ramp-up, and a quota of 0 is
the same tomorrow.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from datetime import datetime

from postroom.campaigns.arithmetic.quota import allowance
from postroom.campaigns.arithmetic.settings import SendingSettings
from postroom.campaigns.arithmetic.window import next_open
from postroom.vocabulary import WaitReason

OTHER_WINDOWS = "name other days, hours or holidays"
"""What to do where none opens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Impasse:
    """Nothing will ever leave until somebody changes something."""

    field: str
    """Of the settings, or of a sender: `daily_quota`, `ramp_up` or `sending_days`."""
    cause: str
    """`the daily quota is 0`."""
    remedy: str
    """`raise it`."""
    words: str
    """What does so, as the words of `postroom campaign`."""
    reason: WaitReason
    detail: str = ""
    """The reason why mails wait, and what it is about."""
    sender: str = ""
    """The id of the sender it is about; empty: nobody of the workspace sends."""
    later: bool = False
    """Mail leaves until a later day of the ramp-up, and none from then on."""

    @property
    def told(self) -> str:
        """`Nothing will ever leave: the daily quota is 0.`"""
        whose = f" from {self.sender}" if self.sender else ""
        when = "from a later day on nothing will leave" if self.later else "nothing will ever leave"
        return f"{when[:1].upper()}{when[1:]}{whose}: {self.cause}."

    def __str__(self) -> str:
        return f"{self.cause}; {self.remedy}"


def impasse(
    settings: SendingSettings, *, now: datetime, sent_days: int, used: int = 0, sender: str = ""
) -> Impasse | None:
    """Why nothing leaves with these settings, now or from some day on; None where all may leave in time.

    `sent_days` and `used` are those of the gate. The settings are those of a `sender` where one is named, whose days
    they then are.
    """
    whose = f"the daily quota of {sender}" if sender else "the daily quota"
    of_whom = f"sender {shlex.quote(sender)}" if sender else "settings"
    if not settings.daily_quota:
        return Impasse(
            field="daily_quota",
            cause=f"{whose} is 0",
            remedy="raise it",
            words=f"{of_whom} --daily-quota {'none' if sender else 50}",
            reason=WaitReason.QUOTA_USED,
            detail="0/0",
            sender=sender,
        )
    if (day := _standing_still(settings, 1 + sent_days, used)) is not None:
        assert settings.ramp_up is not None
        raised = ",".join(str(max(1, step)) for step in settings.ramp_up.schedule)
        return Impasse(
            field="ramp_up",
            cause=f"the ramp-up{f' of {sender}' if sender else ''} allows 0 mails on its day {day}, "
            "and no other day follows one without mail",
            remedy="raise that step",
            words=f"{of_whom} --ramp-up {raised}",
            reason=WaitReason.RAMP_DAY,
            detail=f"{day}",
            sender=sender,
            later=day > 1 + sent_days,
        )
    if next_open(settings, now) is None:
        return Impasse(
            field="sending_days",
            cause="no window ever opens",
            remedy=OTHER_WINDOWS,
            words="settings --days mon,tue,wed,thu,fri",
            reason=WaitReason.WINDOW_CLOSED,
            sender=sender,
        )
    return None


def _standing_still(settings: SendingSettings, ramp_day: int, used: int) -> int | None:
    """The first day of the ramp-up from the present one on that allows nothing; mail of this day takes it past that."""
    schedule = settings.ramp_up.schedule if settings.ramp_up else ()
    days = range(ramp_day + bool(used), len(schedule) + 1)
    return next((day for day in days if not allowance(settings, day)), None)

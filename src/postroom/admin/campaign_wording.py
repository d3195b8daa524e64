"""Why mail of campaigns waits, as the pages say it: the reason, what it is about, and when it goes on by local time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from postroom.admin.wording import counted, status_label
from postroom.campaigns.arithmetic.gate import Wait
from postroom.campaigns.arithmetic.settings import SendingSettings
from postroom.operate.happening_wording import detail_of
from postroom.operate.prospect_story import Happening
from postroom.vocabulary import WaitReason

MEANINGS = {
    WaitReason.WINDOW_CLOSED: "No mail leaves outside the sending hours.",
    WaitReason.HOLIDAY: "No mail leaves on a holiday.",
    WaitReason.QUOTA_USED: "As many have left as may leave on one day.",
    WaitReason.RAMP_DAY: "As many have left as the ramp-up allows on this day.",
    WaitReason.GAP: "Some seconds pass between two mails.",
    WaitReason.WAITING_STEP: "It follows another step, which comes first.",
    WaitReason.PAUSED: "Somebody has paused it.",
    WaitReason.AWAY: "Its prospect is away, and has said until when.",
    WaitReason.RENDERING: "Writing it took too long; it is tried again every minute.",
    WaitReason.SENDER_DOWN: "Its sender, or the way out, does not send just now.",
    WaitReason.NO_WORKER: "It might leave, but no worker that can send it has looked. Is one running?",
}

_ENTRY = re.compile(r"suppressed: ([a-z ]+) of ([0-9]{4}-[0-9]{2}-[0-9]{2}), entry ([0-9a-f-]{36})")
"""How what is stopped names the entry that has stopped it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """Why something waits."""

    reason: str
    detail: str = ""
    until: datetime | None = None
    zone: ZoneInfo | None = None
    now: datetime | None = None
    never: str = ""
    """Why it will never leave as things are, and what to do about it."""
    planned_at: datetime | None = None
    """When it is to leave by the plan, if anybody knows."""

    @property
    def when(self) -> str:
        """`Tue 10 Mar 09:00`, by the workspace's clock."""
        return dated_time(self.until, self.zone, now=self.now) if self.until else ""

    @property
    def planned(self) -> str:
        """The same of when it is to leave by the plan; empty where nobody knows."""
        return dated_time(self.planned_at, self.zone, now=self.now) if self.planned_at else ""

    @property
    def label(self) -> str:
        """The reason as people say it; of a step that follows another one, which that is."""
        if self.reason == WaitReason.WAITING_STEP:
            return self.detail or "its day comes"
        return ended_in_words(self.reason)

    @property
    def meaning(self) -> str:
        return MEANINGS[WaitReason(self.reason)] if self.reason in set(WaitReason) else ""

    def __str__(self) -> str:
        told = f"{self.reason} {self.detail}".strip()
        if self.never:
            return f"{told}, never: {self.never}"
        return f"{told}, next {self.when}" if self.when else told


def explained(wait: Wait, settings: SendingSettings, *, now: datetime) -> Explained:
    """What a gate says, on the clock of the workspace."""
    detail = f"after {wait.detail}" if wait.detail.startswith("step ") else wait.detail
    if wait.reason is WaitReason.WAITING_STEP and wait.until is not None:
        detail = ""  # the day, which the time tells too
    return Explained(reason=wait.reason, detail=detail, until=wait.until, zone=settings.zone, now=now, never=wait.never)


def reasons_in_words(reasons: Mapping[WaitReason | None, int]) -> tuple[str, ...]:
    """`117 window closed`, the most frequent first."""
    said = {None: "have their turn", WaitReason.WAITING_STEP: "after another step"}
    told = sorted(reasons.items(), key=lambda each: -each[1])
    return tuple(f"{counted(count)} {said.get(reason) or str(reason).replace('_', ' ')}" for reason, count in told)


def entry_in(reason: str | None) -> str:
    """The id of the entry of the list of suppressions that is the reason; empty where none is."""
    found = _ENTRY.fullmatch(reason or "")
    return found[3] if found else ""


def ended_in_words(reason: str) -> str:
    """Why somebody gets nothing more: `replied`; `suppressed on 2026-11-19: manual`, without the entry's id."""
    return without_ids(status_label(reason))


def without_ids(text: str) -> str:
    """The same wherever an entry is named in a text."""
    return _ENTRY.sub(r"suppressed on \2: \1", text)


def happened_detail(happening: Happening) -> str:
    """What is said beneath what happened to a prospect."""
    return without_ids(detail_of(happening))


def dated_time(instant: datetime, zone: ZoneInfo | None, *, now: datetime | None) -> str:
    """`Tue 9 Mar 09:00`, with the year where it is not this one."""
    local = instant.astimezone(zone) if zone else instant
    this_year = now is None or local.year == (now.astimezone(zone) if zone else now).year
    return f"{local:%a} {local.day} {local:{'%b' if this_year else '%b %Y'} %H:%M}"


def local_time(instant: datetime, zone: ZoneInfo | None, *, now: datetime | None = None) -> str:
    """`Tue 09:00`; `Tue 9 Mar 09:00` further away."""
    local = instant.astimezone(zone) if zone else instant
    near = now is not None and abs(instant - now) < timedelta(days=6)
    return f"{local:%a %H:%M}" if near else f"{local:%a} {local.day} {local:%b %H:%M}"

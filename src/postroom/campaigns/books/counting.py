"""What counts against quotas: mails accepted and in flight, by window day, of a workspace and each of its senders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime

from postroom.campaigns.arithmetic.impasse import Impasse, impasse
from postroom.campaigns.arithmetic.quota import allowance
from postroom.campaigns.arithmetic.settings import SendingSettings
from postroom.campaigns.arithmetic.window import next_open
from postroom.campaigns.books.mails import written_day
from postroom.campaigns.values import Sender
from postroom.store.plan import Plan, ask

WORKSPACE = ""
"""In the place of a sender's id, for all of them together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """How a workspace or a sender stands on a day."""

    used: int = 0
    """Accepted, in flight, and left in doubt."""
    sent_days: int = 0
    """Earlier days on which mail was accepted."""


NOTHING = Count()


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedDay:
    """What counted on a window day of a workspace."""

    day: date
    used: int
    accepted: int


def count_mail(
    workspace: str, sender_id: str, day: date, *, used: int = 0, accepted: int = 0, doubted: int = 0
) -> Plan[None]:
    """Change what counts on a day. `doubted` are those among the used that were left in doubt and that no mail owns any
    more: theirs is sent again, or given up."""
    yield ask(
        "count_mail",
        workspace=workspace,
        sender=sender_id,
        day=written_day(day),
        used=used,
        accepted=accepted,
        doubted=doubted,
    )


def counts_on(workspace: str, day: date) -> Plan[Mapping[str, Count]]:
    """How workspace and senders stand on a day, by sender; who has had nothing to do with mail yet is missing."""
    rows = yield ask("mail_counts", workspace=workspace, day=written_day(day))
    return {sender: Count(used=int(used), sent_days=int(days)) for sender, used, days in rows}


def days_counted(workspace: str) -> Plan[tuple[CountedDay, ...]]:
    """What has counted against the quota of a workspace, the earliest day first."""
    rows = yield ask("quota_by_day", workspace=workspace)
    return tuple(CountedDay(day=date.fromisoformat(day), used=int(used), accepted=int(ok)) for day, used, ok in rows)


def allowance_of(settings: SendingSettings, sender: Sender, count: Count) -> int | None:
    """How many mails a sender may send on a day, beside what holds for the workspace; None: as many as that."""
    own = own_settings(settings, sender)
    return None if own is None else allowance(own, 1 + count.sent_days)


def own_settings(settings: SendingSettings, sender: Sender) -> SendingSettings | None:
    """What holds for a sender beside the workspace, in its words; None where nothing does."""
    if sender.daily_quota is None and sender.ramp_up is None:
        return None
    quota = settings.daily_quota if sender.daily_quota is None else sender.daily_quota
    return replace(settings, daily_quota=quota, ramp_up=sender.ramp_up)


def impasse_of_sender(
    settings: SendingSettings, sender: Sender, *, now: datetime, count: Count = NOTHING
) -> Impasse | None:
    """Why nothing will ever leave from a sender by what holds for them alone."""
    own = own_settings(replace(settings, daily_quota=max(1, settings.daily_quota)), sender)
    if own is None or next_open(own, now) is None:
        return None
    return impasse(own, now=now, sent_days=count.sent_days, used=count.used, sender=sender.id)


def left_of(settings: SendingSettings, sender: Sender, count: Count) -> int | None:
    """How many of these are left."""
    allowed = allowance_of(settings, sender, count)
    return None if allowed is None else max(0, allowed - count.used)


def with_allowance(
    senders: Iterable[Sender], settings: SendingSettings, counts: Mapping[str, Count]
) -> tuple[list[Sender], list[Sender]]:
    """Those who may send more on the day of these counts, and those who may not."""
    able: list[Sender] = []
    used_up: list[Sender] = []
    for sender in senders:
        (used_up if left_of(settings, sender, counts.get(sender.id, NOTHING)) == 0 else able).append(sender)
    return able, used_up

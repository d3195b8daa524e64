"""Why each mail of a campaign that has not left waits, and until when: one reason each, the widest first.

its campaign or prospect is paused, the step before is not sent, its sender is paused or in trouble,
then what the gate says of the whole workspace, that nobody is there to send it, and at last that others have their
turn before it

Beside it stands when the mail is to leave by the plan, as long as that can still come true. A plan is worked out at the
launch and when the settings change, and time goes on: what was to leave by now and has not, or cannot leave before a
later time, or waits for somebody to do something, has no time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from postroom.campaigns.arithmetic.gate import Permit, Wait, gate
from postroom.campaigns.arithmetic.impasse import Impasse
from postroom.campaigns.arithmetic.settings import SendingSettings
from postroom.campaigns.arithmetic.window import next_open, openings, window_at
from postroom.campaigns.books.counting import NOTHING, WORKSPACE, Count, left_of
from postroom.campaigns.books.mails import Mail, beat_of, read_mail, store_clock
from postroom.campaigns.drafts.campaigns import get_campaign
from postroom.campaigns.drafts.workspace import senders as senders_in
from postroom.campaigns.drafts.workspace import workspace_settings
from postroom.campaigns.looking.impasses import impasses, present_counts
from postroom.campaigns.looking.standstill import unserved_since
from postroom.campaigns.values import Sender
from postroom.store.contract import moment
from postroom.store.plan import Plan, ask
from postroom.vocabulary import CampaignStatus, EnrolmentStatus, MailState, Status, WaitReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """A mail that has not left, and why."""

    mail: Mail
    wait: Wait | None
    """None: it is being sent, or only waits for its turn."""
    now: datetime
    """When that was asked."""
    email_status: Status | None = None
    """Of its email, once it has one."""

    def planned(self, settings: SendingSettings) -> datetime | None:
        """When it is to leave by the plan; None where that cannot come true any more, or nobody knows."""
        at = self.mail.planned_at
        if at is None or at <= self.now or self.mail.state is MailState.LEAVING:
            return None
        if self.wait is not None and (_held(self.wait) or (self.wait.until is not None and at < self.wait.until)):
            return None
        return at if window_at(settings, at) else None

    def told(self, settings: SendingSettings) -> str:
        """In words, with the time on the workspace's clock: `quota_used (50/50), next Tue 09:00`."""
        if self.wait is None:
            return "in doubt" if self.email_status is Status.IN_DOUBT else "its turn"
        until = self.wait.until
        if self.wait.never:
            return f"{self.wait}, never: {self.wait.never}"
        return f"{self.wait}, next {until.astimezone(settings.zone):%a %d %b %H:%M}" if until else str(self.wait)


def _held(wait: Wait) -> bool:
    """Whether nobody knows when this ends, or it never does while the settings are as they are."""
    return bool(wait.never) or wait.reason in (WaitReason.PAUSED, WaitReason.SENDER_DOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Standing:
    """What holds for all mails of a campaign."""

    running: bool
    settings: SendingSettings
    now: datetime
    gate: Permit | Wait
    senders: Mapping[str, Sender]
    counts: Mapping[str, Count]
    shut: Collection[str]
    impasses: Mapping[str, Impasse]
    """What keeps mail from ever leaving: by sender, or of the whole workspace."""
    unserved: datetime | None
    """Since when nobody has looked who could send it."""


def explain(
    workspace: str, campaign_id: str, *, after: tuple[int, int] = (0, 0), limit: int = 100, shut: Collection[str] = ()
) -> Plan[tuple[Explained, ...]]:
    """The next mails behind a number and a step that have not come to their end, with the reason why each waits.

    `shut` are routes that are known to be in trouble.
    """
    standing = yield from _standing(workspace, campaign_id, shut)
    number, step = after
    rows = yield ask("waiting_mails", workspace=workspace, campaign=campaign_id, number=number, step=step, limit=limit)
    return tuple(
        _explained(read_mail(mail), enrolment, status, due_at, standing) for *mail, enrolment, status, due_at in rows
    )


def _standing(workspace: str, campaign_id: str, shut: Collection[str]) -> Plan[_Standing]:
    campaign = yield from get_campaign(workspace, campaign_id)
    settings = (yield from workspace_settings(workspace)).sending
    now, beat = (yield from store_clock()), (yield from beat_of(workspace))
    counts = yield from present_counts(workspace, settings, now=now)
    whole = counts.get(WORKSPACE, NOTHING)
    senders = yield from senders_in(workspace)
    held = [each for each in impasses(settings, senders, counts, now=now) if not each.later]
    return _Standing(
        running=campaign.status is CampaignStatus.RUNNING,
        settings=settings,
        now=now,
        gate=gate(settings, now=now, used=whole.used, sent_days=whole.sent_days, last=beat.last, gap=beat.gap),
        senders={each.id: each for each in senders},
        counts=counts,
        impasses={each.sender or WORKSPACE: each for each in held},
        shut=frozenset(shut),
        unserved=(yield from unserved_since(workspace, now=now)),
    )


def _explained(mail: Mail, enrolment: str, email_status: str | None, due_at: object, standing: _Standing) -> Explained:
    status = None if email_status is None else Status(email_status)
    asks_again = status in (Status.PENDING, Status.RETRYING) or (status is Status.IN_DOUBT and due_at is not None)
    under_way = mail.state is MailState.LEAVING and not asks_again
    paused = not standing.running or enrolment == EnrolmentStatus.PAUSED
    if under_way:
        wait = None
    elif paused:
        wait = Wait(reason=WaitReason.PAUSED, until=None)
    else:
        wait = (
            _for_ever(_wait_of_step(mail, moment(due_at), standing), mail, standing)
            or _wait_of_sender(mail, standing)
            or _wait_of_all(standing)
            or _wait_for_anybody(standing)
        )
    return Explained(mail=mail, wait=wait, email_status=status, now=standing.now)


def _wait_of_step(mail: Mail, due_at: datetime | None, standing: _Standing) -> Wait | None:
    """It waits for the step before, for its day, or for its next attempt."""
    times = (mail.not_before, due_at if mail.state is MailState.LEAVING else None)
    until = max((each for each in times if each is not None), default=None)
    if until is not None and until > standing.now:
        return Wait(reason=_set_aside_for(mail), until=next_open(standing.settings, until))
    if mail.due_day is None:
        return Wait(reason=WaitReason.WAITING_STEP, until=None, detail=f"step {mail.step - 1}")
    opening = next(openings(standing.settings, mail.due_day), None) if mail.step > 1 else None
    if opening is not None and opening.open > standing.now:
        return Wait(reason=WaitReason.WAITING_STEP, until=opening.open, detail=opening.day.isoformat())
    return None


def _for_ever(wait: Wait | None, mail: Mail, standing: _Standing) -> Wait | None:
    """The same, for ever where nothing will leave when it is over."""
    held = standing.impasses.get(WORKSPACE) or standing.impasses.get(mail.sender_id)
    return wait if wait is None or held is None else replace(wait, never=str(held))


def _set_aside_for(mail: Mail) -> WaitReason:
    """What the reason of a mail begins with, where that is a word of this vocabulary."""
    word = (mail.reason or "").partition(":")[0]
    return WaitReason(word) if word in (WaitReason.AWAY, WaitReason.RENDERING) else WaitReason.GAP


def _wait_of_sender(mail: Mail, standing: _Standing) -> Wait | None:
    sender = standing.senders.get(mail.sender_id)
    if sender is not None and sender.paused_at is not None and sender.pause_reason:
        return Wait(reason=WaitReason.SENDER_DOWN, until=None, detail=f"{sender.id}: {sender.pause_reason}")
    if sender is None or sender.paused_at is not None or sender.route in standing.shut:
        return Wait(reason=WaitReason.SENDER_DOWN, until=None, detail=mail.sender_id)
    if (held := standing.impasses.get(sender.id)) is not None:
        return Wait(reason=held.reason, until=None, detail=f"{held.detail} of {sender.id}", never=str(held))
    count = standing.counts.get(sender.id, NOTHING)
    if isinstance(standing.gate, Permit) and left_of(standing.settings, sender, count) == 0:
        opening = window_at(standing.settings, standing.now)
        until = next_open(standing.settings, opening.close) if opening else None
        return Wait(reason=WaitReason.QUOTA_USED, until=until, detail=f"{count.used} of {sender.id}")
    return None


def _wait_of_all(standing: _Standing) -> Wait | None:
    if (held := standing.impasses.get(WORKSPACE)) is not None:
        return Wait(reason=held.reason, until=None, detail=held.detail, never=str(held))
    return standing.gate if isinstance(standing.gate, Wait) else None


def _wait_for_anybody(standing: _Standing) -> Wait | None:
    if standing.unserved is None:
        return None
    since = f"since {standing.unserved.astimezone(standing.settings.zone):%a %d %b %H:%M}"
    return Wait(reason=WaitReason.NO_WORKER, until=None, detail=since)

"""The schedule of a campaign: when its next mails leave, each mail with where it stands, and the quota of a day.

Everything is about one workspace, and `workspaces` is what the person who asks may see: another one is as if it were
not there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from postroom.campaigns.arithmetic.gate import Wait
from postroom.campaigns.arithmetic.quota import allowance
from postroom.campaigns.arithmetic.settings import SendingSettings
from postroom.campaigns.arithmetic.window import local_date, window, window_at
from postroom.campaigns.books.counting import NOTHING, WORKSPACE, counts_on
from postroom.campaigns.books.mails import GONE, Mail, mails_of_enrolment
from postroom.campaigns.drafts.campaigns import campaigns_after, enrolments_after, get_campaign
from postroom.campaigns.drafts.prospects import count_prospects
from postroom.campaigns.drafts.workspace import senders, workspace_settings
from postroom.campaigns.looking.explaining import Explained, explain
from postroom.campaigns.values import MOST_STEPS
from postroom.errors import NotInWorkspace
from postroom.operate.campaign_recording import check_seen
from postroom.operate.values import Workspaces
from postroom.operate.verb import Awaiting, Shell, asks
from postroom.store.plan import Plan
from postroom.vocabulary import MailState, Status
from postroom.work.breakers import shut_routes

LONGEST_PAGE = 200
"""Mails on a page."""

Place = tuple[int, int]
"""The order of enrolment and the step: where a mail stands among those of its campaign."""

_STATUSES = {
    MailState.WAITING: Status.PENDING,
    MailState.READY: Status.PENDING,
    MailState.SENT: Status.SENT,
    MailState.DEAD: Status.DEAD,
    MailState.STOPPED: Status.CANCELLED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledMail:
    """One step to one prospect, in the words that every email has."""

    mail: Mail
    status: Status
    wait: Wait | None
    """Why it has not left; None where it has, is leaving, or only waits for its turn."""
    planned_at: datetime | None
    """When it is to leave by the plan, if that can still be; of what has left, when it was to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MailPage:
    """Some mails of a campaign, by enrolment and step."""

    mails: tuple[ScheduledMail, ...]
    next: Place | None
    """Behind which there are more."""
    settings: SendingSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """What may leave on a day of a workspace, all its campaigns together."""

    workspace: str
    day: date
    """The window day."""
    timezone: str
    daily_quota: int
    ramp_day: int
    allowance: int
    """The quota, or less while the ramp-up holds; 0 on a day without a window."""
    used: int
    """Accepted and in flight."""
    window: tuple[datetime, datetime] | None
    """When it opens and closes, in UTC; None on a day on which nothing leaves."""

    @property
    def left(self) -> int:
        return max(0, self.allowance - self.used)


class ScheduleVerbs(Shell):
    """Questions about what is scheduled."""

    @asks
    def mails(
        self, workspace: str, id: str, *, after: Place = (0, 0), limit: int = 50, workspaces: Workspaces = None
    ) -> Plan[MailPage]:
        """The next mails of a campaign behind a place, whatever became of them; `NotInWorkspace` where there is none.

        A page may hold few mails, or none, and still have a `next`: of those who were passed over there is no mail.
        """
        check_seen(workspace, workspaces)
        launched_to = (yield from get_campaign(workspace, id)).launched_to
        shut = yield from shut_routes()
        explained = yield from explain(workspace, id, after=after, limit=limit, shut=shut)
        waits = {each.mail.id: each for each in explained}
        settings = (yield from workspace_settings(workspace)).sending
        numbers = yield from _numbers(workspace, id, after, launched_to, limit)
        found: list[Mail] = []
        for number in numbers:
            mails = yield from mails_of_enrolment(workspace, id, number)
            found += [mail for mail in mails if (mail.number, mail.step) > after]
            if len(found) > limit:
                break
        shown = found[:limit]
        return MailPage(
            mails=tuple(_scheduled(mail, waits.get(mail.id), settings) for mail in shown),
            next=_next(found, limit, numbers, launched_to),
            settings=settings,
        )

    @asks
    def quota(self, workspace: str, day: date | None = None, *, workspaces: Workspaces = None) -> Plan[Quota]:
        """What may leave on a window day; without one, on the present day.

        The defaults hold in a workspace that has not said anything; in one of which nothing is known, nothing does.
        """
        check_seen(workspace, workspaces)
        if workspaces is None and workspace and not (yield from _is_known(workspace)):
            raise NotInWorkspace("workspace", workspace, workspace, "look at how its name is written")
        settings = (yield from workspace_settings(workspace)).sending
        opening = window_at(settings, self.now())
        day = day or (opening.day if opening else local_date(settings, self.now()))
        count = (yield from counts_on(workspace, day)).get(WORKSPACE, NOTHING)
        ramp_day, hours = 1 + count.sent_days, window(settings, day)
        return Quota(
            workspace=workspace,
            day=day,
            timezone=settings.timezone,
            daily_quota=settings.daily_quota,
            ramp_day=ramp_day,
            allowance=allowance(settings, ramp_day) if hours else 0,
            used=count.used,
            window=hours,
        )


class AsyncCampaignSchedule(Awaiting, ScheduleVerbs):
    """Questions about what is scheduled, for event loops."""


def _is_known(workspace: str) -> Plan[bool]:
    """Whether there is anything in a workspace."""
    if (yield from workspace_settings(workspace)).version or (yield from senders(workspace)):
        return True
    return bool((yield from campaigns_after(workspace, limit=1)) or (yield from count_prospects(workspace)))


def status_of(mail: Mail) -> Status:
    """Where a mail stands, in the words that every email has; until it leaves for the first time it is pending."""
    if mail.state is not MailState.LEAVING:
        return _STATUSES[mail.state]
    match mail.email_status:
        case None:
            return Status.SENDING
        case status if status == GONE:
            return Status.CANCELLED
        case status:
            return Status(status)


def scheduled_to(
    mails: Sequence[Mail], waits: Mapping[int, Explained], settings: SendingSettings
) -> list[ScheduledMail]:
    """The mails to one prospect, given why those wait that have not left, by step."""
    return [_scheduled(mail, waits.get(mail.step), settings) for mail in mails]


def _scheduled(mail: Mail, waits: Explained | None, settings: SendingSettings) -> ScheduledMail:
    if waits is None:
        left = mail.left_at is not None and mail.state in (MailState.SENT, MailState.DEAD)
        return ScheduledMail(mail=mail, status=status_of(mail), wait=None, planned_at=mail.planned_at if left else None)
    return ScheduledMail(mail=mail, status=status_of(mail), wait=waits.wait, planned_at=waits.planned(settings))


def _numbers(workspace: str, id: str, after: Place, launched_to: int, limit: int) -> Plan[list[int]]:
    """The next enrolments that a launch has gone through, with the one in the midst of which the page before ended."""
    number, step = after
    enrolments = yield from enrolments_after(workspace, id, number, limit=limit)
    following = [each.number for each in enrolments if each.number <= launched_to]
    return [number, *following] if step else following


def _next(found: Sequence[Mail], limit: int, numbers: Sequence[int], launched_to: int) -> Place | None:
    if len(found) > limit:
        last = found[limit - 1]
        return last.number, last.step
    if not numbers or numbers[-1] >= launched_to:
        return None
    return numbers[-1], MOST_STEPS

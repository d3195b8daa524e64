"""What the API of campaigns answers, each as the `data` of `{"success": true, "data": …}`, in camelCase and UTC.

Only when a mail is to leave, and until when it waits, are told by the clock of the workspace, with its offset.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import date, datetime
from typing import Annotated, Any, Generic, Literal, TypeVar
from zoneinfo import ZoneInfo

from pydantic import Field

from postroom.admin.shapes import ErrorBody, Shape
from postroom.campaigns.arithmetic.gate import Wait
from postroom.campaigns.arithmetic.impasse import Impasse
from postroom.campaigns.drafts.forecasting import Forecast
from postroom.campaigns.looking.pages import Progress
from postroom.campaigns.looking.totals import Totals
from postroom.campaigns.records import ramp_record
from postroom.campaigns.sending.launching import Launched
from postroom.campaigns.values import Campaign, Sender
from postroom.operate.campaign_looks import InCampaign, ListedCampaign
from postroom.operate.campaign_schedule import MailPage, Quota, ScheduledMail, scheduled_to
from postroom.operate.campaigns import WholeCampaign
from postroom.operate.prospect_story import Happening
from postroom.vocabulary import BounceClass, CampaignStatus, EnrolmentStatus, MailState, Status, WaitReason

T = TypeVar("T")


class Success(Shape, Generic[T]):
    """Good news."""

    success: Literal[True] = True
    data: T


class FailureShape(Shape):
    """Every error of these routes."""

    success: Literal[False]
    error: ErrorBody


class MailCounts(Shape):
    """Mails of a launched campaign; `total` is the sum of the four."""

    total: int
    sent: int
    waiting: int
    stopped: int
    dead: int

    @classmethod
    def of(cls, progress: Progress) -> MailCounts:
        return cls(
            total=progress.total,
            sent=progress.sent,
            waiting=progress.waiting,
            stopped=progress.stopped,
            dead=progress.dead,
        )


class CampaignShape(Shape):
    """A campaign in a list. `prospects` is how many are in it, `mails` is empty before the launch."""

    id: str
    name: str
    sequence_id: str
    status: CampaignStatus
    created_at: datetime | None
    launched_at: datetime | None
    paused_at: datetime | None
    pause_reason: str | None
    finished_at: datetime | None
    prospects: int
    mails: MailCounts

    @classmethod
    def of(cls, listed: ListedCampaign) -> CampaignShape:
        mails = MailCounts.of(listed.progress)
        return cls(**_campaign(listed.campaign), prospects=listed.progress.enrolled, mails=mails)


class CampaignsShape(Shape):
    """Some campaigns by id. With `next`, there are more behind it."""

    workspace: str
    campaigns: list[CampaignShape]
    next: str | None


class TotalsShape(Shape):
    """What became of the mails; `stopped` and `dead` by reason. `mails` is the sum of all."""

    mails: int
    sent: int
    waiting: int
    stopped: dict[str, int]
    dead: dict[str, int]

    @classmethod
    def of(cls, totals: Totals) -> TotalsShape:
        return cls(
            mails=totals.mails,
            sent=totals.states.get(MailState.SENT, 0),
            waiting=totals.waiting,
            stopped=dict(totals.stopped),
            dead=dict(totals.dead),
        )


class ImpasseShape(Shape):
    """Why nothing will ever leave until somebody does what `remedy` says: the `cause`, of the whole workspace, or of
    the sender `senderId`. With `later`, mail leaves until a later day of the ramp-up."""

    told: str
    cause: str
    remedy: str
    sender_id: str | None
    later: bool

    @classmethod
    def of(cls, held: Impasse) -> ImpasseShape:
        return cls(
            told=held.told, cause=held.cause, remedy=held.remedy, sender_id=held.sender or None, later=held.later
        )


class WholeCampaignShape(Shape):
    """One campaign. `enrolments` tells how many prospects stand where, `impasses` why nothing of it will ever leave."""

    id: str
    name: str
    workspace: str
    sequence_id: str
    status: CampaignStatus
    created_at: datetime | None
    launched_at: datetime | None
    paused_at: datetime | None
    pause_reason: str | None
    finished_at: datetime | None
    steps: int
    senders: list[str]
    timezone: str
    prospects: int
    enrolments: dict[str, int]
    totals: TotalsShape
    impasses: list[ImpasseShape]

    @classmethod
    def of(
        cls, workspace: str, whole: WholeCampaign, totals: Totals, impasses: Iterable[Impasse]
    ) -> WholeCampaignShape:
        return cls(
            **_campaign(whole.campaign),
            workspace=workspace,
            steps=len(whole.draft.sequence.steps),
            senders=[sender.id for sender in whole.draft.senders],
            timezone=whole.draft.settings.sending.timezone,
            prospects=whole.prospects,
            enrolments=dict(whole.enrolments),
            totals=TotalsShape.of(totals),
            impasses=[ImpasseShape.of(each) for each in impasses],
        )


class SenderShape(Shape):
    """From whom mails of campaigns are. Paused, nothing leaves from them, and their mail is kept."""

    id: str
    address: str
    name: str
    reply_to: str | None
    route: str
    daily_quota: int | None
    ramp_up: list[int] | None
    paused_at: datetime | None
    pause_reason: str | None

    @classmethod
    def of(cls, sender: Sender) -> SenderShape:
        return cls(
            id=sender.id,
            address=sender.address,
            name=sender.name,
            reply_to=sender.reply_to,
            route=sender.route,
            daily_quota=sender.daily_quota,
            ramp_up=ramp_record(sender.ramp_up),
            paused_at=sender.paused_at,
            pause_reason=sender.pause_reason,
        )


class SendersShape(Shape):
    """Who sends the campaigns of a workspace, by id."""

    workspace: str
    senders: list[SenderShape]


class LaunchShape(Shape):
    """What a launch came to. Where it is not `done` and there are no `errors`, it goes on: ask again.

    `scheduled` counts mails (of one that goes on, those that there are by now), `revived` those of a cancelled launch
    that wait again, `skipped` prospects, `reasons` the latter by reason; `errors` says why it came to no end.
    `prospects` is how many were gone through so far.
    """

    done: bool
    status: CampaignStatus
    scheduled: int
    revived: int = 0
    skipped: int
    reasons: dict[str, int]
    errors: list[str]
    prospects: int | None = None

    @classmethod
    def of(cls, launched: Launched) -> LaunchShape:
        return cls(
            done=not launched.errors,
            status=launched.status,
            scheduled=launched.scheduled,
            revived=launched.revived,
            skipped=sum(launched.skipped.values()),
            reasons=dict(launched.skipped),
            errors=list(launched.errors),
        )


class PausedShape(Shape):
    """A campaign from which nothing leaves."""

    status: CampaignStatus
    paused_at: datetime | None
    pause_reason: str | None


class CancelledShape(Shape):
    """What a cancellation has stopped: mails that had not left."""

    status: CampaignStatus
    stopped: int


class ForecastDayShape(Shape):
    """A window day; `planned` mails of the campaign, `others` of other campaigns, `used` count already."""

    day: date
    planned: int
    others: int
    used: int
    allowance: int


class NextMailShape(Shape):
    """When a mail leaves, and which step it is."""

    at: datetime
    step: int


class ScheduleShape(Shape):
    """What is still to leave, if nothing comes between. `left` would never leave, for the `reason`. Of a campaign that
    is paused or was cancelled, `supposing` says what it supposes: that it is resumed, or launched again."""

    status: CampaignStatus
    supposing: str
    timezone: str
    planned: int
    next: list[NextMailShape]
    days: list[ForecastDayShape]
    ends_at: datetime | None
    left: int
    reason: str

    @classmethod
    def of(cls, campaign: Campaign, plan: Forecast) -> ScheduleShape:
        return cls(
            status=campaign.status,
            supposing=plan.supposing,
            timezone=plan.timezone,
            planned=plan.mails,
            next=[NextMailShape(at=at, step=step) for at, step in plan.soon],
            days=[ForecastDayShape(**asdict(day)) for day in plan.days],
            ends_at=None if plan.left else plan.last,
            left=plan.left,
            reason=plan.reason,
        )


class WaitShape(Shape):
    """Why a mail has not left; `until` is when that is looked at again, with the offset of the workspace's clock, and
    `never` why it will not leave as things are."""

    reason: WaitReason
    detail: str
    until: datetime | None
    never: str

    @classmethod
    def of(cls, wait: Wait, zone: ZoneInfo) -> WaitShape:
        return cls(reason=wait.reason, detail=wait.detail, until=_on_the_clock(wait.until, zone), never=wait.never)


class ScheduledShape(Shape):
    """One step to one prospect. `reason` is why it will not leave, `wait` why it has not left yet.

    `plannedAt` is when it is to leave by the plan, with the offset of the workspace's clock; null where nobody knows,
    where that cannot come true any more, and where it will not leave. Of what has left it is when it was to.
    """

    id: str
    key: str
    prospect_id: str
    sequence_id: str
    step: int
    sender_id: str
    status: Status
    planned_at: datetime | None
    left_at: datetime | None
    message_id: str | None
    reason: str | None
    wait: WaitShape | None

    @classmethod
    def of(cls, scheduled: ScheduledMail, zone: ZoneInfo) -> ScheduledShape:
        mail = scheduled.mail
        return cls(
            id=str(mail.id),
            key=mail.key,
            prospect_id=mail.prospect_id,
            sequence_id=mail.sequence_id,
            step=mail.step,
            sender_id=mail.sender_id,
            status=scheduled.status,
            planned_at=_on_the_clock(scheduled.planned_at, zone),
            left_at=mail.left_at,
            message_id=mail.message_id,
            reason=mail.reason,
            wait=WaitShape.of(scheduled.wait, zone) if scheduled.wait else None,
        )


class ScheduledEmailsShape(Shape):
    """Some mails by enrolment and step. With `next`, more follow, also where this page holds few or none.

    `timezone` is that of the workspace, by whose clock mails wait and leave.
    """

    timezone: str
    emails: list[ScheduledShape]
    next: str | None

    @classmethod
    def of(cls, page: MailPage) -> ScheduledEmailsShape:
        next = None if page.next is None else f"{page.next[0]}.{page.next[1]}"
        settings = page.settings
        emails = [ScheduledShape.of(each, settings.zone) for each in page.mails]
        return cls(timezone=settings.timezone, emails=emails, next=next)


class HappeningShape(Shape):
    """One thing that happened to a prospect.

    `what` is `sent`, `leaving`, `dead`, `withheld` (steps that will never leave), `paused`, `resumed`, `ended` (then
    `status` is how), or what came back; `steps` are those it is about, or has kept from leaving. `emailKept` tells
    whether the email is still in the outbox, `actor` who did it, where a person did.
    """

    at: datetime
    what: str
    campaign_id: str | None
    steps: list[int]
    email_id: str | None
    email_kept: bool
    status: EnrolmentStatus | None
    reason: str
    actor: str
    return_id: str | None
    bounce_class: BounceClass | None
    status_code: str
    reply_code: int | None
    until: date | None

    @classmethod
    def of(cls, happening: Happening) -> HappeningShape:
        returned = happening.returned
        return cls(
            at=happening.at,
            what=str(happening.what),
            campaign_id=happening.campaign_id or None,
            steps=list(happening.steps),
            email_id=happening.email_id,
            email_kept=happening.kept,
            status=happening.status,
            reason=happening.reason,
            actor=happening.actor,
            return_id=returned.id if returned else None,
            bounce_class=returned.bounce_class if returned else None,
            status_code=returned.status if returned else "",
            reply_code=returned.code if returned else None,
            until=returned.until if returned else None,
        )


class ProspectShape(Shape):
    """One prospect in a campaign: who it is, how the enrolment stands, each mail, and what happened, earliest first.

    `happened` speaks of other campaigns of the workspace, too, as `campaignId` tells. With `more`, there was more
    before. `timezone` is the prospect's own, `workspaceTimezone` the one by whose clock mails wait and leave.
    """

    id: str
    address: str
    name: str | None
    timezone: str | None
    language: str | None
    fields: dict[str, str]
    status: EnrolmentStatus
    reason: str | None
    sender_id: str | None
    workspace_timezone: str
    thread: list[ScheduledShape]
    happened: list[HappeningShape]
    more: bool

    @classmethod
    def of(cls, found: InCampaign) -> ProspectShape:
        enrolment, prospect, settings = found.enrolment, found.enrolment.prospect, found.settings
        thread = scheduled_to(found.mails, found.waits, settings)
        return cls(
            id=prospect.id,
            address=prospect.address,
            name=prospect.name,
            timezone=prospect.timezone,
            language=prospect.language,
            fields=dict(prospect.fields),
            status=enrolment.status,
            reason=enrolment.reason,
            sender_id=enrolment.sender_id,
            workspace_timezone=settings.timezone,
            thread=[ScheduledShape.of(each, settings.zone) for each in thread],
            happened=[HappeningShape.of(each) for each in found.story.happenings],
            more=found.story.more,
        )


class PendingShape(Shape):
    """How many mails are still to leave, or are leaving."""

    pending: int


class ForecastShape(Shape):
    """What would become of a campaign, if it were launched now. `left` would never leave, for the `reason`; `skipped`
    are prospects whom the launch would pass over, by reason. Of one that is paused or was cancelled, `supposing` says
    what it supposes: that it is resumed, or launched again."""

    status: CampaignStatus
    supposing: str
    prospects: int
    skipped: dict[str, int]
    steps: int
    mails: int
    timezone: str
    first: datetime | None
    last: datetime | None
    ends_on: date | None
    busiest: int
    days: list[ForecastDayShape]
    left: int
    reason: str

    @classmethod
    def of(cls, forecast: Forecast) -> ForecastShape:
        return cls(
            status=forecast.status,
            supposing=forecast.supposing,
            prospects=forecast.prospects,
            skipped=dict(forecast.skipped),
            steps=forecast.steps,
            mails=forecast.mails,
            timezone=forecast.timezone,
            first=forecast.first,
            last=forecast.last,
            ends_on=forecast.ends_on,
            busiest=forecast.busiest,
            days=[ForecastDayShape(**asdict(day)) for day in forecast.days],
            left=forecast.left,
            reason=forecast.reason,
        )


class QuotaShape(Shape):
    """A window day of a workspace, all its campaigns together. `used` is accepted or in flight."""

    workspace: str
    day: Annotated[date, Field(alias="date")]
    timezone: str
    daily_quota: int
    ramp_day: int
    allowance: int
    used: int
    left: int
    opens_at: datetime | None
    closes_at: datetime | None

    @classmethod
    def of(cls, quota: Quota) -> QuotaShape:
        opens_at, closes_at = quota.window or (None, None)
        return cls(
            workspace=quota.workspace,
            day=quota.day,
            timezone=quota.timezone,
            daily_quota=quota.daily_quota,
            ramp_day=quota.ramp_day,
            allowance=quota.allowance,
            used=quota.used,
            left=quota.left,
            opens_at=opens_at,
            closes_at=closes_at,
        )


def _on_the_clock(instant: datetime | None, zone: ZoneInfo) -> datetime | None:
    return instant.astimezone(zone) if instant else None


def _campaign(campaign: Campaign) -> Mapping[str, Any]:
    """What every shape of a campaign has."""
    names = ("id", "name", "sequence_id", "status", "created_at", "launched_at", "paused_at", "pause_reason")
    return {name: getattr(campaign, name) for name in (*names, "finished_at")}

"""The JSON API of campaigns: what is scheduled, what is to leave, and the acts on a campaign.

Every answer is `{"success": true, "data": …}` or `{"success": false, "error": …}`. A campaign is one of a workspace,
which `?workspace=` names; another workspace's is not there. What is done here are the acts that pages and the command
line have, too.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from datetime import date
from functools import partial
from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from pydantic import BeforeValidator, Field, StrictBool, StringConstraints

from postroom.accounts.values import Person
from postroom.admin.api import Operator, Viewer, Who, may_answer
from postroom.admin.campaign_places import campaigns_of, forget_outlook, looks_of
from postroom.admin.campaign_shapes import (
    CampaignShape,
    CampaignsShape,
    CancelledShape,
    FailureShape,
    ForecastShape,
    LaunchShape,
    PausedShape,
    PendingShape,
    ProspectShape,
    QuotaShape,
    ScheduledEmailsShape,
    ScheduleShape,
    SenderShape,
    SendersShape,
    Success,
    WholeCampaignShape,
)
from postroom.admin.described import CampaignName, WorkspaceName
from postroom.admin.errors import ApiError
from postroom.admin.launches import UnderWay, launches_of
from postroom.admin.parsing import JsonRoute
from postroom.admin.places import operations_of
from postroom.admin.requests import Request as Body
from postroom.admin.requests import Why
from postroom.admin.workshop import workshop_of
from postroom.campaigns.drafts.forecasting import Forecast, Outset, chance_of, forecast
from postroom.campaigns.sending.launching import Launched, Progress
from postroom.campaigns.values import LONGEST_ID
from postroom.errors import NotInWorkspace
from postroom.operate import Actor
from postroom.operate.campaign_looks import LONGEST_LIST
from postroom.operate.campaign_recording import check_seen
from postroom.operate.campaign_schedule import LONGEST_PAGE, AsyncCampaignSchedule
from postroom.templates.found import find_portals
from postroom.vocabulary import CampaignStatus

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

MOST_PLANNED = 200_000
"""Mails that are planned within a request; more take too long."""
NAMELESS = "-"
"""In a path, the workspace whose name is empty."""


def failures(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors of every route, in the shape that they have here."""
    return {status: {**told, "model": FailureShape} for status, told in may_answer(*statuses).items()}


def _as_described(value: object) -> object:
    """Only what the description calls a date: a bare number would otherwise be seconds since 1970."""
    if not isinstance(value, str) or not _DATE.fullmatch(value):
        raise ValueError("a date reads like 2026-05-17")
    return value


router = APIRouter(prefix="/api", responses=failures(404), route_class=JsonRoute, tags=["campaigns"])

_GOES_ON = {**failures(409), 202: {"model": Success[LaunchShape], "description": "It goes on; ask again."}}

Day = Annotated[date, BeforeValidator(_as_described)]
Segment = Annotated[
    str, Path(description="An id as one part of the path; `/` and `%` in it are written `%252F` and `%2525`.")
]


class LaunchRequest(Body):
    """How to launch; nothing need be said."""

    again: StrictBool = False
    """Also a campaign that was cancelled."""


class EmailsRequest(Body):
    """Which piece of the scheduled emails."""

    workspace: WorkspaceName | None = None
    after: Annotated[str, StringConstraints(pattern=r"^[0-9]{1,15}\.[0-9]{1,4}$")] | None = None
    """The `next` of the piece before."""
    limit: Annotated[int, Field(ge=1, le=LONGEST_PAGE)] = 50

    @property
    def place(self) -> tuple[int, int]:
        number, _, step = (self.after or "0.0").partition(".")
        return int(number), int(step)


class Nothing(Body):
    """There is nothing to say; what is said all the same is refused, and not passed over."""


class WhyRequest(Body):
    """Why something is paused."""

    reason: Why = ""


class WorkspaceRequest(Body):
    """Whose campaign."""

    workspace: Annotated[
        WorkspaceName | None,
        Field(description="Whose campaign; by default of the only workspace of the caller, else of the nameless."),
    ] = None


class CampaignsRequest(WorkspaceRequest):
    """Which page of the campaigns."""

    after: Annotated[CampaignName, Field(description="The `next` of the page before.")] = ""


class PauseRequest(WorkspaceRequest):
    """Whose campaign or sender is paused, and why."""

    reason: Annotated[Why, Field(description="Why; or in the body.")] = ""


class QuotaRequest(Body):
    """Of which day."""

    date: Annotated[Day | None, Field(description="The window day; by default the present one.")] = None


def workspace_for(person: Person, given: str | None) -> str:
    """The workspace that is meant: the one that is named, else the only one the person has, else the nameless one."""
    if given is not None:
        return given
    return next(iter(person.workspaces)) if person.workspaces and len(person.workspaces) == 1 else ""


def id_in(part: str, what: str = "campaign") -> str:
    """The id that is written in a part of a path. What cannot be one is as one that is not there."""
    id = unquote(part)
    if len(id) > LONGEST_ID or not id.isprintable():
        raise NotInWorkspace(what, "", "", "write it as it is listed")
    return id


class Asked:
    """One request about campaigns: who asks, in which workspace, and whom it is asked of."""

    def __init__(self, request: Request, person: Person, workspace: str) -> None:
        self.request = request
        self.campaigns = campaigns_of(request)
        self.looks = looks_of(request)
        self.schedule = AsyncCampaignSchedule(operations_of(request).outbox)
        self.workspace = workspace
        self.seen = person.workspaces

    def forget(self) -> None:
        """Something was done: what pages have looked ahead at is out of date."""
        forget_outlook(self.request, self.workspace)


async def _looking(request: Request, person: Viewer, wanted: Annotated[WorkspaceRequest, Query()]) -> Asked:
    return Asked(request, person, workspace_for(person, wanted.workspace))


async def _acting(request: Request, person: Operator, wanted: Annotated[WorkspaceRequest, Query()]) -> Asked:
    return Asked(request, person, workspace_for(person, wanted.workspace))


Looking = Annotated[Asked, Depends(_looking)]
Acting = Annotated[Asked, Depends(_acting)]
"""Of a route that takes no other parameter: a name that is not known is refused."""


@router.get("/campaigns")
async def list_campaigns(
    request: Request, person: Viewer, wanted: Annotated[CampaignsRequest, Query()]
) -> Success[CampaignsShape]:
    """The campaigns of a workspace by id, each with how far it has come."""
    asked = Asked(request, person, workspace_for(person, wanted.workspace))
    found = await asked.looks.campaigns(asked.workspace, after=wanted.after, workspaces=asked.seen)
    more = found[-1].campaign.id if len(found) == LONGEST_LIST else None
    campaigns = [CampaignShape.of(each) for each in found]
    return Success(data=CampaignsShape(workspace=asked.workspace, campaigns=campaigns, next=more))


@router.get("/campaigns/{id}")
async def show_campaign(asked: Looking, id: Segment) -> Success[WholeCampaignShape]:
    """One campaign: its status, who is in it, what became of its mails."""
    id = id_in(id)
    whole = await asked.campaigns.status(asked.workspace, id, workspaces=asked.seen)
    totals = await asked.campaigns.totals(asked.workspace, id, workspaces=asked.seen)
    impasses = await asked.campaigns.impasses_of_campaign(asked.workspace, whole, workspaces=asked.seen)
    return Success(data=WholeCampaignShape.of(asked.workspace, whole, totals, impasses))


@router.get("/campaigns/{id}/schedule")
async def show_schedule(asked: Looking, id: Segment) -> Success[ScheduleShape]:
    """When what is still to leave will leave, if nothing comes between: the next mails, each day, the end.

    Of a draft, as if it were launched now; of a paused campaign as if it were resumed, of a cancelled one as if it were
    launched again.
    """
    found = await asked.looks.outset(asked.workspace, id_in(id), workspaces=asked.seen)
    plan = await _forecast(asked, found, most=MOST_PLANNED)
    return Success(data=ScheduleShape.of(found.draft.campaign, plan))


@router.get("/campaigns/{id}/emails")
async def scheduled_emails(
    request: Request, person: Viewer, id: Segment, wanted: Annotated[EmailsRequest, Query()]
) -> Success[ScheduledEmailsShape]:
    """The scheduled emails, one for each prospect and step, by enrolment: where each stands, and why it waits."""
    asked = Asked(request, person, workspace_for(person, wanted.workspace))
    page = await asked.schedule.mails(
        asked.workspace, id_in(id), after=wanted.place, limit=wanted.limit, workspaces=asked.seen
    )
    return Success(data=ScheduledEmailsShape.of(page))


@router.get("/campaigns/{id}/prospects/{prospect}")
async def show_prospect(asked: Looking, id: Segment, prospect: Segment) -> Success[ProspectShape]:
    """One prospect in a campaign: each mail to them, and what left, came back and was done, in order of time."""
    found = await asked.looks.person(asked.workspace, id_in(id), id_in(prospect, "prospect"), workspaces=asked.seen)
    return Success(data=ProspectShape.of(found))


@router.get("/campaigns/{id}/pending")
async def pending_emails(asked: Looking, id: Segment) -> Success[PendingShape]:
    """How many mails of a campaign are still to leave, or are leaving."""
    id = id_in(id)
    await asked.campaigns.status(asked.workspace, id, workspaces=asked.seen)
    totals = await asked.campaigns.totals(asked.workspace, id, workspaces=asked.seen)
    return Success(data=PendingShape(pending=totals.waiting))


@router.get("/campaigns/{id}/forecast", responses=failures(409))
async def show_forecast(asked: Looking, id: Segment) -> Success[ForecastShape]:
    """When a campaign would begin and end, day by day, if it were launched now; or resumed, or launched again."""
    found = await asked.looks.outset(asked.workspace, id_in(id), workspaces=asked.seen)
    if found.mails > MOST_PLANNED:
        raise ApiError(
            status=409,
            code="too_large",
            message=f"more than {MOST_PLANNED:,} mails are to be planned, too many for one request",
            remedy="run `postroom campaign forecast`",
        )
    return Success(data=ForecastShape.of(await _forecast(asked, found)))


async def _forecast(asked: Asked, found: Outset, *, most: int | None = None) -> Forecast:
    """Worked out beside the event loop."""
    chance = chance_of(asked.workspace, found.draft.campaign.id)
    working_out = partial(forecast, found, now=asked.looks.now(), random=chance, most=most)
    return await workshop_of(asked.request).do(working_out)


@router.post("/campaigns/{id}/schedule", responses=_GOES_ON)
@router.post("/campaigns/{id}/launch", responses=_GOES_ON)
async def launch_campaign(
    asked: Acting, by: Who, id: Segment, response: Response, how: LaunchRequest | None = None
) -> Success[LaunchShape]:
    """Launch a campaign, which schedules an email for each prospect and step; `schedule` and `launch` are the same.

    Asked for twice, also at once, the second time schedules nothing. What takes longer than 20 s goes on: 202, and
    `done` is false.
    """
    again = how is not None and how.again
    begin = partial(_launch, asked, by, id_in(id), again)
    return await _launched(asked, id_in(id), begin, response)


@router.post("/campaigns/{id}/resume", responses=_GOES_ON)
async def resume_campaign(
    asked: Acting, by: Who, id: Segment, response: Response, said: Nothing | None = None
) -> Success[LaunchShape]:
    """Let a paused campaign run again, and its launch go on where the pause had cut it short."""
    return await _launched(asked, id_in(id), partial(_resume, asked, by, id_in(id)), response)


@router.post("/campaigns/{id}/pause", responses=failures(409))
async def pause_campaign(
    request: Request,
    person: Operator,
    by: Who,
    id: Segment,
    wanted: Annotated[PauseRequest, Query()],
    said: WhyRequest | None = None,
) -> Success[PausedShape]:
    """Let nothing of a campaign leave until it is resumed; at most what is being handed over goes out.

    One that is paused stays so: the answer tells since when, and why then.
    """
    asked = Asked(request, person, workspace_for(person, wanted.workspace))
    paused = await asked.campaigns.pause(
        asked.workspace, id_in(id), by=by, reason=_reason(wanted, said), workspaces=asked.seen
    )
    asked.forget()
    return Success(data=PausedShape(status=paused.status, paused_at=paused.paused_at, pause_reason=paused.pause_reason))


@router.post("/campaigns/{id}/cancel", responses=failures(409))
async def cancel_campaign(asked: Acting, by: Who, id: Segment, said: Nothing | None = None) -> Success[CancelledShape]:
    """Let nothing of a campaign leave ever again, unless it is launched with `again`."""
    stopped = await asked.campaigns.cancel(asked.workspace, id_in(id), by=by, workspaces=asked.seen)
    asked.forget()
    return Success(data=CancelledShape(status=CampaignStatus.CANCELLED, stopped=stopped.mails + len(stopped.cancelled)))


@router.get("/senders")
async def list_senders(asked: Looking) -> Success[SendersShape]:
    """Who sends the campaigns of a workspace, by id."""
    found = await asked.campaigns.senders(asked.workspace, workspaces=asked.seen)
    return Success(data=SendersShape(workspace=asked.workspace, senders=list(map(SenderShape.of, found))))


@router.post("/senders/{id}/pause")
async def pause_sender(
    request: Request,
    person: Operator,
    by: Who,
    id: Segment,
    wanted: Annotated[PauseRequest, Query()],
    said: WhyRequest | None = None,
) -> Success[SenderShape]:
    """Let nothing leave from a sender until they are resumed. Their mail is kept, and nobody else's waits for it.

    One that is paused stays so: the answer tells since when, and why then.
    """
    asked = Asked(request, person, workspace_for(person, wanted.workspace))
    paused = await asked.campaigns.pause_sender(
        asked.workspace, id_in(id, "sender"), by=by, reason=_reason(wanted, said), workspaces=asked.seen
    )
    return Success(data=SenderShape.of(paused))


@router.post("/senders/{id}/resume")
async def resume_sender(asked: Acting, by: Who, id: Segment, said: Nothing | None = None) -> Success[SenderShape]:
    """Let mail leave from a sender again: what was kept asks for its turn at once."""
    resumed = await asked.campaigns.resume_sender(asked.workspace, id_in(id, "sender"), by=by, workspaces=asked.seen)
    return Success(data=SenderShape.of(resumed))


@router.get("/workspaces/{id}/quota")
async def show_quota(
    request: Request,
    person: Viewer,
    id: Annotated[str, Path(description="The workspace; `-` is the one without a name.")],
    wanted: Annotated[QuotaRequest, Query()],
) -> Success[QuotaShape]:
    """What may leave on a day, what has left or is leaving, and when the window is open."""
    schedule = AsyncCampaignSchedule(operations_of(request).outbox)
    workspace = "" if id == NAMELESS else id_in(id, "workspace")
    return Success(data=QuotaShape.of(await schedule.quota(workspace, wanted.date, workspaces=person.workspaces)))


def _reason(wanted: PauseRequest, said: WhyRequest | None) -> str | None:
    """Why, in the body or the query."""
    return (said.reason if said else "") or wanted.reason or None


async def _launch(asked: Asked, by: Actor, id: str, again: bool, progress: Progress) -> Launched:
    portals = await workshop_of(asked.request).do(find_portals, asked.campaigns.settings.portals)
    return await asked.campaigns.launch(
        asked.workspace, id, by=by, portals=portals, again=again, progress=progress, workspaces=asked.seen
    )


async def _resume(asked: Asked, by: Actor, id: str, progress: Progress) -> Launched:
    return await asked.campaigns.resume(asked.workspace, id, by=by, workspaces=asked.seen)


async def _launched(
    asked: Asked, id: str, begin: Callable[[Progress], Awaitable[Launched]], response: Response
) -> Success[LaunchShape]:
    """What a launch came to, or how far it is."""
    check_seen(asked.workspace, asked.seen)  # before it is joined, which asks nothing
    result = await launches_of(asked.request).go_on((asked.workspace, id), begin)
    asked.forget()
    if isinstance(result, Launched):
        return Success(data=LaunchShape.of(result))
    response.status_code = 202
    return Success(data=await _so_far(asked, id, result))


async def _so_far(asked: Asked, id: str, launch: UnderWay) -> LaunchShape:
    whole = await asked.campaigns.status(asked.workspace, id, workspaces=asked.seen)
    totals = await asked.campaigns.totals(asked.workspace, id, workspaces=asked.seen)
    return LaunchShape(
        done=False,
        status=whole.campaign.status,
        scheduled=totals.mails,
        skipped=0,
        reasons={},
        errors=[],
        prospects=launch.prospects,
    )

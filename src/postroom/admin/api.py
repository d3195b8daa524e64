"""The JSON API: it checks what comes in, asks the service, and owns no rules."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from pydantic import StringConstraints
from starlette.convertors import Convertor, register_url_convertor

from postroom.accounts.values import Person, Role
from postroom.admin.auditing import auditor
from postroom.admin.corrections import with_text
from postroom.admin.described import limited
from postroom.admin.errors import ApiError
from postroom.admin.parsing import JsonRoute
from postroom.admin.places import actor_of
from postroom.admin.requests import (
    ActOnFound,
    ActOnThese,
    AuditRequest,
    EnqueueRequest,
    EventsRequest,
    ListRequest,
    PauseRequest,
    ReplayRequest,
    Why,
)
from postroom.admin.security import needs
from postroom.admin.shapes import (
    ActResultShape,
    AuditShape,
    BreakerShape,
    DashboardShape,
    DismissedShape,
    ErrorShape,
    EventsShape,
    PageShape,
    ReceiptShape,
    ReinstatedShape,
    WholeEmailShape,
)
from postroom.admin.visit import keeper
from postroom.admin.workshop import workshop_of
from postroom.operate import Actor, AsyncOperations

_ERRORS = {
    400: "The body cannot be read.",
    401: "Nobody is signed in, or the token stands for nothing.",
    403: "The person may not do this.",
    404: "There is no such email, route, entry or return, or it may not be seen.",
    409: "The email's present status does not allow it, or it has to be confirmed.",
    422: "The request is not understood.",
    503: "The database cannot be reached just now.",
}

_EVERYWHERE = (400, 401, 403, 422, 503)


def may_answer(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Errors that a route may answer, for the documentation."""
    return {status: {"model": ErrorShape, "description": _ERRORS[status]} for status in (*_EVERYWHERE, *statuses)}


class EmailIdConvertor(Convertor[str]):
    """An id in a path. Anything else is no email's address, so `/outbox/retry` is the bulk act and nothing more."""

    regex = "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("email_id", EmailIdConvertor())

router = APIRouter(prefix="/api", responses=may_answer(), route_class=JsonRoute)

Viewer = Annotated[Person, Depends(needs(Role.VIEWER))]
Operator = Annotated[Person, Depends(needs(Role.OPERATOR))]
Key = Annotated[str, StringConstraints(min_length=1, pattern=r"^[\x20-\x7e]+$"), limited("key")]


def _operations(request: Request) -> AsyncOperations:
    operations: AsyncOperations = request.app.state.operations
    return operations


async def _who(request: Request, person: Operator) -> Actor:
    return actor_of(request, person)


Service = Annotated[AsyncOperations, Depends(_operations)]
Who = Annotated[Actor, Depends(_who)]
Reason = Annotated[Why, Query(description="Why, for the audit log.")]


@router.get("/admin/dashboard", tags=["dashboard"])
async def dashboard(operations: Service, person: Viewer) -> DashboardShape:
    """The state of the house: one sentence, counts, charts, workers, transports, failures by cause."""
    return DashboardShape.of(await operations.dashboard(workspaces=person.workspaces))


@router.get("/admin/outbox", tags=["outbox"])
async def list_emails(operations: Service, person: Viewer, wanted: Annotated[ListRequest, Query()]) -> PageShape:
    """Emails, newest first, page by page."""
    before = None if wanted.before is None else str(wanted.before)
    search = wanted.as_search(workspaces=person.workspaces)
    return PageShape.of(await operations.find(search, limit=wanted.limit, before=before))


@router.get("/admin/outbox/{id:email_id}", tags=["outbox"], responses=may_answer(404))
async def show_email(operations: Service, person: Viewer, id: UUID) -> WholeEmailShape:
    """One email with everything but its content: recipients, attempts, history, what happens next."""
    return WholeEmailShape.of_view(await operations.email(str(id), workspaces=person.workspaces))


@router.post("/admin/outbox/{id:email_id}/retry", tags=["outbox"], responses=may_answer(404, 409))
async def retry_email(operations: Service, person: Operator, by: Who, id: UUID, reason: Reason = "") -> WholeEmailShape:
    """Start a dead email over: attempts 0, the whole budget, due now; history kept."""
    await operations.act_on_one("retry", str(id), by=by, reason=reason, workspaces=person.workspaces)
    return await show_email(operations, person, id)


@router.post("/admin/outbox/{id:email_id}/cancel", tags=["outbox"], responses=may_answer(404, 409))
async def cancel_email(
    operations: Service, person: Operator, by: Who, id: UUID, reason: Reason = ""
) -> WholeEmailShape:
    """Never send an email that has not left yet."""
    await operations.act_on_one("cancel", str(id), by=by, reason=reason, workspaces=person.workspaces)
    return await show_email(operations, person, id)


@router.post("/admin/outbox/{id:email_id}/replay", tags=["outbox"], responses=may_answer(404, 409))
async def replay_email(
    request: Request,
    operations: Service,
    person: Operator,
    by: Who,
    id: UUID,
    corrections: ReplayRequest,
    reason: Reason = "",
) -> WholeEmailShape:
    """Send a dead, doubtful or cancelled email again, corrected; key, Message-ID and history stay.

    A sensitive one goes again as it was, and only if an admin asks for it.
    """
    given = await workshop_of(request).do(with_text, corrections.model_dump(exclude_none=True))
    await operations.act_on_one(
        "replay",
        str(id),
        by=by,
        corrections=given,
        reason=reason,
        workspaces=person.workspaces,
        admin=person.role.may(Role.ADMIN),
    )
    return await show_email(operations, person, id)


@router.delete("/admin/outbox/{id:email_id}", tags=["outbox"], status_code=204, responses=may_answer(404, 409))
async def dismiss_email(operations: Service, person: Operator, by: Who, id: UUID, reason: Reason = "") -> None:
    """Delete a dead email; for a while, `reinstate` takes that back."""
    await operations.act_on_one("dismiss", str(id), by=by, reason=reason, workspaces=person.workspaces)


@router.post("/admin/outbox/{id:email_id}/reinstate", tags=["outbox"], responses=may_answer(404))
async def reinstate_email(
    operations: Service, person: Operator, by: Who, id: UUID, reason: Reason = ""
) -> WholeEmailShape:
    """Take a dismissal back: the email is as it was, dead or in doubt. 404 once the time for that is over."""
    await operations.reinstate(str(id), by=by, reason=reason, workspaces=person.workspaces)
    return await show_email(operations, person, id)


@router.get("/admin/dismissed", tags=["outbox"])
async def dismissed_emails(operations: Service, person: Viewer) -> DismissedShape:
    """What was dismissed and can still be reinstated, the latest first."""
    return DismissedShape.of(await operations.dismissed(workspaces=person.workspaces))


@router.post("/admin/dismissed/{undo:email_id}/reinstate", tags=["bulk"], responses=may_answer(404))
async def undo_dismissal(operations: Service, person: Operator, by: Who, undo: UUID) -> ReinstatedShape:
    """Take back what one `dismiss` of many emails did: `undo` is what it answered."""
    done = await operations.undo_dismissal(str(undo), by=by, workspaces=person.workspaces)
    return ReinstatedShape(done=done)


@router.post("/admin/outbox/retry", tags=["bulk"])
async def retry_emails(
    operations: Service, person: Operator, by: Who, chosen: ActOnFound | ActOnThese
) -> ActResultShape:
    """Retry many emails; `dryRun` only counts them."""
    return await _act(operations, person, by, "retry", chosen)


@router.post("/admin/outbox/cancel", tags=["bulk"])
async def cancel_emails(
    operations: Service, person: Operator, by: Who, chosen: ActOnFound | ActOnThese
) -> ActResultShape:
    """Cancel many emails; `dryRun` only counts them."""
    return await _act(operations, person, by, "cancel", chosen)


@router.post("/admin/outbox/dismiss", tags=["bulk"])
async def dismiss_emails(
    operations: Service, person: Operator, by: Who, chosen: ActOnFound | ActOnThese
) -> ActResultShape:
    """Dismiss many emails; `dryRun` only counts them."""
    return await _act(operations, person, by, "dismiss", chosen)


async def _act(
    operations: AsyncOperations, person: Person, by: Actor, act: str, chosen: ActOnFound | ActOnThese
) -> ActResultShape:
    those = (
        [str(id) for id in chosen.ids]
        if isinstance(chosen, ActOnThese)
        else chosen.filter.as_search(workspaces=person.workspaces)
    )
    result = await operations.act(
        act, those, by=by, reason=chosen.reason, dry_run=chosen.dry_run, workspaces=person.workspaces
    )
    return ActResultShape.of(result, undo=result.tie if act == "dismiss" and result.done else None)


@router.post("/admin/transports/{name}/pause", tags=["transports"], responses=may_answer(404))
async def pause_transport(operations: Service, person: Operator, by: Who, name: str, why: PauseRequest) -> BreakerShape:
    """Stop a route until a person resumes it. Its emails wait and lose no attempt."""
    breaker = await operations.pause_route(name, why.reason, by, workspaces=person.workspaces)
    return BreakerShape(name=name, state=breaker.state, reason=breaker.reason)


@router.post("/admin/transports/{name}/resume", tags=["transports"], responses=may_answer(404))
async def resume_transport(operations: Service, person: Operator, by: Who, name: str) -> BreakerShape:
    """Let a route send again; the next attempt shows whether it is well."""
    breaker = await operations.resume_route(name, by, workspaces=person.workspaces)
    return BreakerShape(name=name, state=breaker.state, reason=breaker.reason)


@router.get("/admin/audit", tags=["audit"])
async def audit(
    request: Request, person: Annotated[Person, Depends(auditor)], wanted: Annotated[AuditRequest, Query()]
) -> AuditShape:
    """Who did what, or was kept from it, newest first, page by page; for admins who may see every workspace."""
    return AuditShape.of(await keeper(request).audit(**wanted.model_dump()))


@router.get("/events", tags=["events"])
async def events(operations: Service, person: Viewer, wanted: Annotated[EventsRequest, Query()]) -> EventsShape:
    """What happened to emails, oldest first, in order and without gaps; `after` is where somebody has read up to."""
    piece = await operations.events(
        wanted.place, limit=wanted.limit, wanted=wanted.as_wanted(), workspaces=person.workspaces
    )
    return EventsShape.of(piece)


@router.post(
    "/emails",
    tags=["emails"],
    status_code=201,
    responses={200: {"model": ReceiptShape, "description": "The key was there already; nothing was added."}},
)
async def enqueue(
    request: Request,
    operations: Service,
    person: Operator,
    by: Who,
    response: Response,
    email: EnqueueRequest,
    idempotency_key: Annotated[Key | None, Header()] = None,
) -> ReceiptShape:
    """Put an email into the outbox. With an `Idempotency-Key`, doing it again adds nothing and says so."""
    if person.workspaces is not None and email.workspace not in person.workspaces:
        raise ApiError(
            status=403,
            code="not_allowed",
            message="the email's workspace is not one of yours",
            remedy="name one of your workspaces in `workspace`",
        )
    # Making text of megabytes of HTML takes seconds.
    submission = await workshop_of(request).do(email.submission, idempotency_key)
    receipt = await operations.enqueue(submission, by=by)
    if receipt.duplicate:
        response.status_code = 200
    return ReceiptShape.of(receipt)

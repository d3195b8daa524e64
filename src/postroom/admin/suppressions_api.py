"""Who is not to be mailed, in the JSON API: search, add, remove."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Response
from pydantic import ConfigDict, Field, StringConstraints

from postroom.admin.api import Operator, Service, Viewer, Who, may_answer
from postroom.admin.described import Label, MailAddress
from postroom.admin.parsing import JsonRoute
from postroom.admin.requests import Instant, Line, Request
from postroom.admin.shapes import Shape
from postroom.operate.stops import read_stop
from postroom.operate.suppressing import SuppressionPage
from postroom.operate.suppression_wording import stops_in_words
from postroom.store.suppressions import LONGEST_EVIDENCE, Suppression
from postroom.vocabulary import SuppressionReason, SuppressionScope

router = APIRouter(prefix="/api", responses=may_answer(), route_class=JsonRoute, tags=["suppressions"])

Evidence = Annotated[str, StringConstraints(max_length=LONGEST_EVIDENCE, pattern=r"^[^\x00-\x1f\x7f]*$")]


class SuppressionsRequest(Request):
    """Which entries; `part` is any part of an address."""

    part: Line | None = None
    reason: SuppressionReason | None = None
    before: UUID | None = None
    """The `next` of the page before."""
    limit: Annotated[int, Field(ge=1, le=200)] = 50


def _of_one_scope(schema: dict[str, Any]) -> None:
    """What is stopped is all mail, that of a workspace, or that of a kind in one."""
    empty, named = {"maxLength": 0}, {"minLength": 1}
    schema["anyOf"] = [
        {"properties": {"scope": {"const": "all"}, "workspace": empty, "kind": empty}},
        {"required": ["scope"], "properties": {"scope": {"const": "workspace"}, "kind": empty}},
        {"required": ["scope", "kind"], "properties": {"scope": {"const": "kind"}, "kind": named}},
    ]


class SuppressRequest(Request):
    """Who is not to be mailed, what is stopped, and why."""

    model_config = ConfigDict(json_schema_extra=_of_one_scope)

    address: MailAddress
    reason: SuppressionReason = SuppressionReason.MANUAL
    scope: SuppressionScope = SuppressionScope.ALL
    workspace: Label = ""
    kind: Label = ""
    evidence: Evidence = ""
    expires_at: Instant | None = None

    def said(self) -> dict[str, str]:
        given = self.model_dump(mode="json")
        return {name: value for name, value in given.items() if value is not None}


class SuppressionShape(Shape):
    """One entry. `stops` tells in words what it stops; `emailId` is the email that led to it."""

    id: str
    address: str
    scope: SuppressionScope
    workspace: str
    kind: str
    reason: SuppressionReason
    stops: str
    evidence: str
    email_id: str | None
    actor: str | None
    created_at: datetime
    noted_at: datetime
    expires_at: datetime | None

    @classmethod
    def of(cls, entry: Suppression) -> SuppressionShape:
        return cls(**asdict(entry), stops=stops_in_words(entry))


class SuppressionsShape(Shape):
    """Some entries, the latest first. With `next`, there are more."""

    suppressions: list[SuppressionShape]
    next: str | None

    @classmethod
    def of(cls, page: SuppressionPage) -> SuppressionsShape:
        return cls(suppressions=[SuppressionShape.of(entry) for entry in page.entries], next=page.next)


@router.get("/admin/suppressions")
async def list_suppressions(
    operations: Service, person: Viewer, wanted: Annotated[SuppressionsRequest, Query()]
) -> SuppressionsShape:
    """Who is not to be mailed, the latest first, page by page."""
    page = await operations.suppressions(
        part=wanted.part,
        reason=wanted.reason,
        limit=wanted.limit,
        before=None if wanted.before is None else str(wanted.before),
        workspaces=person.workspaces,
    )
    return SuppressionsShape.of(page)


@router.post(
    "/admin/suppressions",
    status_code=201,
    responses={200: {"model": SuppressionShape, "description": "The entry was there already, and was heard of again."}},
)
async def suppress(
    operations: Service, person: Operator, by: Who, response: Response, wanted: SuppressRequest
) -> SuppressionShape:
    """Stop mail to an address. Said again, an entry stays the same, and never ends sooner."""
    stop = read_stop(wanted.said(), actor=by.name, after=operations.now())
    entry = await operations.suppress(stop, by=by, workspaces=person.workspaces)
    if entry.created_at < entry.noted_at:
        response.status_code = 200
    return SuppressionShape.of(entry)


@router.delete("/admin/suppressions/{id:email_id}", status_code=204, responses=may_answer(404, 409))
async def unsuppress(
    operations: Service,
    person: Operator,
    by: Who,
    id: UUID,
    confirm: Annotated[bool, Query(description="Also if the person has said it themselves.")] = False,
) -> None:
    """Remove an entry. One that is the person's own word (unsubscribe, complaint) only with `confirm`."""
    await operations.unsuppress(str(id), by=by, confirm=confirm, workspaces=person.workspaces)

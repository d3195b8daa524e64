"""Who is not to be mailed, in the JSON API: search, add, remove, lists in and out."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Response
from fastapi import Request as HttpRequest
from pydantic import ConfigDict, Field, StringConstraints

from postroom.accounts.values import Person
from postroom.admin.api import Operator, Service, Viewer, Who, may_answer
from postroom.admin.campaign_import import CSV_BODY, on_disk
from postroom.admin.described import Label, MailAddress, WorkspaceName
from postroom.admin.parsing import JsonRoute
from postroom.admin.requests import Instant, Line, Request
from postroom.admin.shapes import Shape
from postroom.admin.suppression_files import CsvFile, exported
from postroom.admin.workshop import workshop_of
from postroom.errors import InvalidEmail
from postroom.operate.stops import read_stop
from postroom.operate.suppressing import SuppressionPage
from postroom.operate.suppression_lists import ImportReport
from postroom.operate.suppression_wording import stops_in_words
from postroom.operate.values import Workspaces
from postroom.store.suppressions import LONGEST_EVIDENCE, Suppression
from postroom.vocabulary import SuppressionReason, SuppressionScope

router = APIRouter(prefix="/api", responses=may_answer(), route_class=JsonRoute, tags=["suppressions"])

Evidence = Annotated[str, StringConstraints(max_length=LONGEST_EVIDENCE, pattern=r"^[^\x00-\x1f\x7f]*$")]


class SuppressionsRequest(Request):
    """Which entries; `part` is any part of an address."""

    part: Line | None = None
    reason: SuppressionReason | None = None
    workspace: WorkspaceName | None = None
    """Entries of this one, and those about all mail."""
    before: UUID | None = None
    """The `next` of the page before."""
    limit: Annotated[int, Field(ge=1, le=200)] = 50

    def seen_by(self, person: Person) -> Workspaces:
        """Whose entries are looked at; of a workspace that is not theirs there is none."""
        if self.workspace is None:
            return person.workspaces
        wanted = frozenset((self.workspace,))
        return wanted if person.workspaces is None else wanted & frozenset(person.workspaces)


class UsualRequest(Request):
    """What lines of a list stop that do not say."""

    scope: SuppressionScope | None = None
    workspace: Label = ""
    kind: Label = ""


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


class RefusedLineShape(Shape):
    """A line that was left out, and why."""

    line: int
    problem: str


class ImportedListShape(Shape):
    """What became of a list: its lines, and why the first of those that were refused were."""

    lines: int
    added: int
    known: int
    refused: int
    problems: list[RefusedLineShape]

    @classmethod
    def of(cls, report: ImportReport) -> ImportedListShape:
        problems = [RefusedLineShape(line=each.line, problem=each.problem) for each in report.problems]
        return cls(
            lines=report.lines, added=report.added, known=report.known, refused=report.refused, problems=problems
        )


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
        workspaces=wanted.seen_by(person),
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


@router.post("/admin/suppressions/import", openapi_extra=CSV_BODY)
async def import_suppressions(
    request: HttpRequest, operations: Service, person: Operator, by: Who, usual: Annotated[UsualRequest, Query()]
) -> ImportedListShape:
    """Take a list in: addresses one a line, or CSV with a column `address`. The same list again adds nothing.

    Stopped in the middle, what was taken in is there, and the same list again does the rest.
    """
    async with on_disk(request) as path:
        if not path.stat().st_size:
            raise InvalidEmail("file", "is empty", "send the list as the body: addresses one a line, or CSV")
        with await workshop_of(request).do(path.open, "rb") as file:
            report = await operations.import_suppressions(
                file,
                by=by,
                defaults=usual.model_dump(mode="json", exclude_none=True),
                workspaces=person.workspaces,
            )
    return ImportedListShape.of(report)


@router.post("/admin/suppressions/export", response_class=CsvFile)
async def export_suppressions(operations: Service, person: Operator, by: Who) -> CsvFile:
    """All entries that the caller may see, as CSV that can be imported again. It is on record who took them."""
    await operations.note_export(by=by)
    return exported(operations, person.workspaces)


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

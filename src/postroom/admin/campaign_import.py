"""Prospects of a campaign out of a CSV file that is the body of a request, read as it comes and never whole."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import Field

from postroom.admin.api import Operator, Who
from postroom.admin.campaign_api import Asked, Segment, WorkspaceRequest, failures, id_in, workspace_for
from postroom.admin.campaign_shapes import Success
from postroom.admin.shapes import Shape
from postroom.admin.workshop import workshop_of
from postroom.campaigns.importing.batches import Imported, RowOutcome, RowReport
from postroom.campaigns.importing.table import open_table

TOLD = 100
"""Rows that are told one by one."""
CSV_BODY: dict[str, Any] = {"requestBody": {"required": True, "content": {"text/csv": {"schema": {"type": "string"}}}}}

router = APIRouter(prefix="/api", tags=["campaigns"])


class ImportRequest(WorkspaceRequest):
    """Into which workspace, and whether also over what is there."""

    update: Annotated[bool, Field(description="Also change what is known of those who are there already.")] = False


class RowShape(Shape):
    """A row to look at: refused, twice there, or different from what is stored."""

    line: int
    outcome: RowOutcome
    reason: str


class ImportedShape(Shape):
    """What became of a file: rows by outcome, and how many prospects came into the campaign.

    `look` has the first rows that somebody should look at; `more` is how many others there are.
    """

    rows: int
    counts: dict[str, int]
    enrolled: int
    fields: list[str]
    look: list[RowShape]
    more: int


class _Noted:
    """The rows that somebody should look at."""

    def __init__(self) -> None:
        self.rows: list[RowShape] = []
        self.count = 0

    def hear(self, row: RowReport) -> None:
        if not row.reason:
            return
        self.count += 1
        if len(self.rows) < TOLD:
            self.rows.append(RowShape(line=row.line, outcome=row.outcome, reason=row.reason))

    def told(self, imported: Imported) -> ImportedShape:
        return ImportedShape(
            rows=imported.rows,
            counts=imported.counts,
            enrolled=imported.enrolled,
            fields=list(imported.fields),
            look=self.rows,
            more=self.count - len(self.rows),
        )


@router.post("/campaigns/{id}/prospects", responses=failures(404, 409), openapi_extra=CSV_BODY)
async def import_prospects(
    request: Request,
    person: Operator,
    by: Who,
    id: Segment,
    wanted: Annotated[ImportRequest, Query()],
) -> Success[ImportedShape]:
    """Take prospects in from a CSV file with headings, and into a draft. The same file again adds nothing.

    Stopped in the middle, what was taken in is there, and the same file again does the rest.
    """
    asked, noted = Asked(request, person, workspace_for(person, wanted.workspace)), _Noted()
    async with on_disk(request) as path:
        with await workshop_of(request).do(open_table, path) as table:
            imported = await asked.campaigns.import_prospects(
                asked.workspace,
                table,
                by=by,
                campaign=id_in(id),
                update=wanted.update,
                report=noted.hear,
                workspaces=asked.seen,
            )
    asked.forget()
    return Success(data=noted.told(imported))


@asynccontextmanager
async def on_disk(request: Request) -> AsyncIterator[Path]:
    """The body as a file with a name, for it is read twice: first whether it can be read at all."""
    with tempfile.TemporaryDirectory(prefix="postroom-") as folder:
        path = Path(folder, "list.csv")
        with await workshop_of(request).do(path.open, "wb") as file:
            async for piece in request.stream():
                file.write(piece)
        yield path

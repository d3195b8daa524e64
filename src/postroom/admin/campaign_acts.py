"""What the buttons of a campaign do: import, launch, pause, resume, cancel; and those of one prospect.

Plain forms, each answered by a redirect to a page that tells what was done. What cannot be taken back asks first, with
the numbers.
"""

from __future__ import annotations

import csv
import io
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, BinaryIO

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import RedirectResponse, Response
from starlette.datastructures import FormData, UploadFile

from postroom.accounts.names import printable
from postroom.accounts.values import Person, Role
from postroom.admin.addresses import plain
from postroom.admin.campaign_contexts import ACTS, CampaignConfirmPage, Report
from postroom.admin.campaign_page import asked_check, asked_findings, campaign_page, draft_forecast
from postroom.admin.campaign_places import Place, campaigns_of, forget_outlook, id_in, looks_of, place_of, words
from postroom.admin.notices import with_notice
from postroom.admin.places import actor_of
from postroom.admin.rendering import render
from postroom.admin.security import needs
from postroom.admin.workshop import workshop_of
from postroom.campaigns.importing.batches import Imported, RowOutcome, RowReport
from postroom.campaigns.importing.table import open_table
from postroom.errors import InvalidCampaign
from postroom.operate.campaigns import WholeCampaign
from postroom.operate.suppression_lists import as_text
from postroom.templates.found import find_portals

router = APIRouter(include_in_schema=False)

Operator = Annotated[Person, Depends(needs(Role.OPERATOR))]

SHOWN = 100
"""Rows of a report on the page."""
LONGEST_FILE = 400_000
"""Bytes of a report in its file. The page sends it along, and a form makes three of a byte at most: `LONGEST_FIELD`."""
ASKS_FIRST = ("launch", "cancel")
ACTS_ON_CAMPAIGNS = ("launch", "pause", "resume", "cancel")
ACTS_ON_PROSPECTS = ("pause", "resume", "stop")
COLUMNS = ("line", "outcome", "address", "reason")
LONGEST_REASON = 500


@router.post("/admin/campaigns/{id}/import")
async def import_prospects(request: Request, person: Operator, id: str) -> Response:
    """Prospects out of a file, into a draft; the page tells what became of its rows."""
    place, id = await place_of(request, person), id_in(id)
    noted = _Noted()
    async with request.form() as form:
        file = form.get("file")
        try:
            if not isinstance(file, UploadFile) or not file.filename:
                raise InvalidCampaign("file", "none was chosen", "choose a CSV file first")
            imported = await _imported(request, person, place, id, file.file, noted, update=bool(form.get("update")))
        except InvalidCampaign as error:
            return await campaign_page(request, person, place, id, status=422, problem=error)
    forget_outlook(request, place.workspace)
    report = Report(imported=imported, rows=tuple(noted.rows), count=noted.count, filed=noted.filed, file=noted.file())
    return await campaign_page(request, person, place, id, report=report)


@router.post("/admin/campaigns/{id}/report")
async def report(request: Request, person: Operator, id: str) -> Response:
    """The report of an import as a file: what the page that shows it has sent along. Nothing of it is kept here."""
    headers = {
        "Content-Disposition": 'attachment; filename="import-report.csv"',
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "Cache-Control": "no-store",
    }
    return Response(words(await request.form(), "report"), media_type="text/csv", headers=headers)


@router.post("/admin/campaigns/{id}/{act}")
async def act(request: Request, person: Operator, id: str, act: str) -> Response:
    """Launch, pause, resume or cancel a campaign; the first and the last ask before."""
    if act not in ACTS_ON_CAMPAIGNS:
        raise HTTPException(404)
    place, id, form = await place_of(request, person), id_in(id), await request.form()
    if act in ASKS_FIRST and not form.get("confirmed"):
        whole = await campaigns_of(request).status(place.workspace, id, workspaces=person.workspaces)
        if act not in ACTS[whole.campaign.status]:
            return _go(with_notice(place.campaign(id), "campaign_changed"))
        return await _ask(request, person, place, whole, act)
    try:
        mails, skipped = await _done(request, person, place, id, act, form)
    except InvalidCampaign as error:
        if error.field == "status":
            return _go(with_notice(place.campaign(id), "campaign_changed"))
        return await campaign_page(request, person, place, id, status=422, problem=error)
    forget_outlook(request, place.workspace)
    return _go(with_notice(place.campaign(id), f"campaign_{act}", count=mails, left=skipped))


@router.post("/admin/campaigns/{id}/prospects/{prospect}/{act}")
async def act_on_prospect(request: Request, person: Operator, id: str, prospect: str, act: str) -> Response:
    """Pause, resume or stop one prospect of a campaign; what stops for good asks before."""
    if act not in ACTS_ON_PROSPECTS:
        raise HTTPException(404)
    place, id, prospect = await place_of(request, person), id_in(id), id_in(prospect)
    operations, form, seen = campaigns_of(request), await request.form(), person.workspaces
    if act == "stop" and not form.get("confirmed"):
        found = await looks_of(request).person(place.workspace, id, prospect, workspaces=seen)
        whole = await operations.status(place.workspace, id, workspaces=seen)
        return await _ask(request, person, place, whole, act, who=found.enrolment.prospect.address, prospect=prospect)
    asked: Any = {"by": actor_of(request, person), "workspaces": seen}
    back = place.prospect(id, prospect)
    try:
        match act:
            case "pause":
                await operations.pause_prospect(place.workspace, id, prospect, **asked)
            case "resume":
                await operations.resume_prospect(place.workspace, id, prospect, **asked)
            case _:
                await operations.stop_prospect(place.workspace, id, prospect, reason="stopped_by_a_person", **asked)
    except InvalidCampaign:
        return _go(with_notice(back, "campaign_changed"))
    forget_outlook(request, place.workspace)
    return _go(with_notice(back, f"prospect_{act}"))


async def _done(request: Request, person: Person, place: Place, id: str, act: str, form: FormData) -> tuple[int, int]:
    """Do it; how many mails it was about, and how many prospects were passed over.

    Whether it can be done is asked where it is done, and told on record.
    """
    operations = campaigns_of(request)
    asked: Any = {"by": actor_of(request, person), "workspaces": person.workspaces}
    match act:
        case "launch":
            portals, again = find_portals(operations.settings.portals), bool(form.get("again"))
            launched = await operations.launch(place.workspace, id, again=again, portals=portals, **asked)
            return launched.scheduled + launched.revived, sum(launched.skipped.values())
        case "pause":
            reason = printable(plain(form.get("reason"))[:LONGEST_REASON])
            await operations.pause(place.workspace, id, reason=reason or None, **asked)
        case "resume":
            await operations.resume(place.workspace, id, **asked)
        case _:
            return (await operations.cancel(place.workspace, id, **asked)).mails, 0
    return 1, 0


async def _ask(
    request: Request, person: Person, place: Place, whole: WholeCampaign, act: str, *, who: str = "", prospect: str = ""
) -> Response:
    id, launching = whole.campaign.id, act == "launch"
    numbers = await looks_of(request).numbers(place.workspace, id, workspaces=person.workspaces)
    checked = await asked_check(request, person, place, id) if launching else None
    page = CampaignConfirmPage(
        place=place,
        act=act,
        whole=whole,
        action=place.prospect(id, prospect, act) if prospect else place.campaign(id, act),
        back=place.prospect(id, prospect) if prospect else place.campaign(id),
        progress=numbers.progress,
        checked=checked,
        findings=await asked_findings(request, person, place, whole, checked) if checked else (),
        forecast=await draft_forecast(request, person, place, whole) if launching else None,
        who=who,
    )
    return render(request, "campaign_confirm.html", person=person, section="campaigns", page=page)


async def _imported(
    request: Request, person: Person, place: Place, id: str, file: BinaryIO, noted: _Noted, *, update: bool
) -> Imported:
    """Read from a file with a name, for it is read twice: first whether it can be read at all."""
    with _on_disk() as path:
        await workshop_of(request).do(_copy, file, path)
        with await workshop_of(request).do(open_table, path) as table:
            return await campaigns_of(request).import_prospects(
                place.workspace,
                table,
                by=actor_of(request, person),
                campaign=id,
                update=update,
                report=noted.hear,
                workspaces=person.workspaces,
            )


class _Noted:
    """The rows that somebody should look at: the first of them, and as CSV as many as a file holds."""

    def __init__(self) -> None:
        self.rows: list[RowReport] = []
        self.count = 0
        self.filed = 0
        self._lines = [_line(COLUMNS)]
        self._room = LONGEST_FILE

    def hear(self, row: RowReport) -> None:
        if row.outcome in (RowOutcome.ADDED, RowOutcome.UPDATED) or (
            row.outcome is RowOutcome.UNCHANGED and not row.reason
        ):
            return
        self.count += 1
        if len(self.rows) < SHOWN:
            self.rows.append(row)
        if self.filed == self.count - 1:  # and none behind one that was left out
            self._file(_line([row.line, row.outcome.value, as_text(row.address), as_text(row.reason)]))

    def file(self) -> str:
        """As CSV; no cell is taken for a formula."""
        return "".join(self._lines)

    def _file(self, line: str) -> None:
        self._room -= len(line.encode())
        if self._room >= 0:
            self._lines.append(line)
            self.filed += 1


def _line(cells: Iterable[object]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()


@contextmanager
def _on_disk() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="postroom-import-") as folder:
        yield Path(folder) / "prospects.csv"


def _copy(file: BinaryIO, path: Path) -> None:
    with path.open("wb") as copy:
        shutil.copyfileobj(file, copy)


def _go(path: str) -> Response:
    return RedirectResponse(path, status_code=303)

"""Who is not to be mailed, at the desk: the list, the forms to add and to remove, lists in and out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response
from starlette.datastructures import FormData, UploadFile

from postroom.accounts.values import Person, Role
from postroom.admin.addresses import SuppressionsAddress, plain
from postroom.admin.campaign_places import looks_of
from postroom.admin.contexts import SuppressionsPage, UnsuppressPage
from postroom.admin.notices import Notice, read_notice, with_notice
from postroom.admin.places import actor_of, may_act, operations_of, root_of
from postroom.admin.rendering import render
from postroom.admin.security import needs, safe_next
from postroom.admin.suppression_files import exported
from postroom.errors import InvalidEmail
from postroom.operate.stops import FIELDS, read_stop
from postroom.operate.suppression_rights import SuppressionNotFound, SuppressionShared
from postroom.operate.suppression_wording import denied_in_words
from postroom.vocabulary import SuppressionScope

router = APIRouter(include_in_schema=False)

Viewer = Annotated[Person, Depends(needs(Role.VIEWER))]
Operator = Annotated[Person, Depends(needs(Role.OPERATOR))]

SHOWN = 50
"""Entries on a page."""
USUAL = ("scope", "workspace", "kind")
"""What a list is told of lines that do not say."""
NAMELESS = "nameless"
"""What a form calls the mail that has no workspace."""


@router.get("/admin/suppressions")
async def suppressions(request: Request, person: Viewer) -> Response:
    """Entries by any part of an address, the latest first."""
    return await _page(request, person)


@router.post("/admin/suppressions")
async def add(request: Request, person: Operator) -> Response:
    """One entry more, or the same form again with what is wrong in it."""
    operations, by, form = operations_of(request), actor_of(request, person), _given(await request.form())
    try:
        stop = read_stop(_meant(form, person), actor=by.name, after=operations.now())
        entry = await operations.suppress(stop, by=by, workspaces=person.workspaces)
    except (InvalidEmail, SuppressionShared) as error:
        return await _page(request, person, status=422, form=form, problem=str(error))
    return _go(f"{with_notice(_home(request), 'suppress')}&added={entry.id}")


@router.post("/admin/suppressions/import")
async def import_list(request: Request, person: Operator) -> Response:
    """A list out of a file; the page tells what became of its lines."""
    async with request.form() as form:
        file = form.get("file")
        if not isinstance(file, UploadFile) or not file.filename:
            return await _page(request, person, status=422, list_problem="Choose a file first.")
        given = _given(form)
        try:
            usual = _meant(given, person)
            report = await operations_of(request).import_suppressions(
                file.file,
                by=actor_of(request, person),
                defaults={name: usual[name] for name in USUAL},
                workspaces=person.workspaces,
            )
        except InvalidEmail as error:
            return await _page(request, person, status=422, list_problem=str(error), list_form=given)
    return await _page(request, person, report=report)


@router.post("/admin/suppressions/export")
async def export_list(request: Request, person: Operator) -> Response:
    """All that may be seen, as a file that can be imported again. It is on record who took it, so it is no link."""
    operations = operations_of(request)
    await operations.note_export(by=actor_of(request, person))
    return exported(operations, person.workspaces)


@router.post("/admin/suppressions/{id}/remove")
async def remove(request: Request, person: Operator, id: str) -> Response:
    """Ask, with what it would mean, and then remove an entry."""
    operations, form = operations_of(request), await request.form()
    back = safe_next(request, plain(form.get("next")) or _home(request))
    try:
        if not form.get("confirmed"):
            page = UnsuppressPage(entry=await operations.suppression(id, workspaces=person.workspaces), next=back)
            return render(request, "unsuppress.html", person=person, section="suppressions", page=page)
        await operations.unsuppress(id, by=actor_of(request, person), confirm=True, workspaces=person.workspaces)
    except SuppressionNotFound:
        return _go(with_notice(back, "no_suppression"))
    return _go(with_notice(back, "unsuppress"))


async def _page(
    request: Request, person: Person, *, status: int = 200, list_problem: str = "", **more: Any
) -> Response:
    address = SuppressionsAddress.read(request.query_params)
    found = await operations_of(request).suppressions(
        part=address.q or None,
        reason=address.wanted_reason,
        limit=SHOWN,
        before=address.before or None,
        workspaces=person.workspaces,
    )
    known = await looks_of(request).workspaces(workspaces=person.workspaces)
    page = SuppressionsPage(address=address, found=found, workspaces=person.workspaces, known=known, **more)
    return render(
        request,
        "suppressions.html",
        status=status,
        person=person,
        may_act=may_act(person),
        notice=Notice(text=list_problem, tone="problem") if list_problem else await _notice(request, person, known),
        section="suppressions",
        page=page,
    )


async def _notice(request: Request, person: Person, known: tuple[str, ...]) -> Notice | None:
    """What was done. Of an entry that was added, what it stops; with a caution where its workspace may be misspelt."""
    notice, added = read_notice(request.query_params), plain(request.query_params.get("added"))
    if notice is None or not added:
        return notice
    try:
        entry = await operations_of(request).suppression(added, workspaces=person.workspaces)
    except SuppressionNotFound:
        return notice
    told = f"Added. From now on, {entry.address} gets no {denied_in_words(entry)}."
    if not entry.workspace or not known or entry.workspace in known:
        return Notice(text=told)
    doubt = f"No campaign is of a workspace {entry.workspace}: look whether it is spelt like that."
    return Notice(text=f"{told} {doubt}", tone="caution")


def _meant(given: Mapping[str, str], person: Person) -> dict[str, str]:
    """What a form says, in the words of entries: a workspace that is not named is meant only where that is said."""
    meant = dict(given)
    if given["scope"] == NAMELESS:
        meant |= {"scope": SuppressionScope.KIND if given["kind"] else SuppressionScope.WORKSPACE, "workspace": ""}
    elif person.workspaces is None and not given["workspace"] and given["scope"] in ("workspace", "kind"):
        raise InvalidEmail("workspace", "is missing", "name it, or choose mail without a workspace")
    return meant


def _given(form: FormData) -> dict[str, str]:
    return {name: plain(form.get(name)) for name in FIELDS}


def _home(request: Request) -> str:
    return f"{root_of(request)}/admin/suppressions"


def _go(path: str) -> Response:
    return RedirectResponse(path, status_code=303)

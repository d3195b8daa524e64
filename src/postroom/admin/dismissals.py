"""What was dismissed and can still be reinstated: the list, and the button that takes a dismissal back."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from postroom.accounts.values import Person, Role
from postroom.admin.addresses import plain
from postroom.admin.contexts import DismissedPage
from postroom.admin.notices import read_notice, with_notice
from postroom.admin.places import actor_of, may_act, operations_of, root_of
from postroom.admin.rendering import render
from postroom.admin.security import needs, safe_next
from postroom.errors import EmailNotFound
from postroom.operate import Actor, AsyncOperations

router = APIRouter(include_in_schema=False)

SHOWN = 200
"""Emails on the page, the latest; those dismissed before are reached by `postroom reinstate`."""


@router.get("/admin/dismissed")
async def dismissed(request: Request, person: Annotated[Person, Depends(needs(Role.VIEWER))]) -> HTMLResponse:
    """The latest first, each with how long it can still be reinstated."""
    operations = operations_of(request)
    found = await operations.dismissed(limit=SHOWN + 1, workspaces=person.workspaces)
    page = DismissedPage(emails=found[:SHOWN], more=len(found) > SHOWN, undo=operations.settings.undo)
    notice = read_notice(request.query_params)
    return render(
        request, "dismissed.html", person=person, may_act=may_act(person), notice=notice, section="queue", page=page
    )


@router.post("/admin/dismissed/reinstate")
async def reinstate(request: Request, person: Annotated[Person, Depends(needs(Role.OPERATOR))]) -> Response:
    """One email by its `id`, or with `undo` all that one press has dismissed."""
    form, operations, by = await request.form(), operations_of(request), actor_of(request, person)
    back = safe_next(request, plain(form.get("next")) or f"{root_of(request)}/admin/dismissed")
    if tie := plain(form.get("undo")):
        done = await operations.undo_dismissal(tie, by=by, workspaces=person.workspaces)
    else:
        done = await _one(operations, plain(form.get("id")), by, person)
    told = with_notice(back, "reinstate", count=done) if done else with_notice(back, "gone")
    return RedirectResponse(told, status_code=303)


async def _one(operations: AsyncOperations, id: str, by: Actor, person: Person) -> int:
    try:
        await operations.reinstate(id, by=by, workspaces=person.workspaces)
    except EmailNotFound:
        return 0
    return 1

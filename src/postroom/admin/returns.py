"""What came back, at the desk: the list, one of it, and the message that it was read from.

The message was written by anybody. It is shown as text, bounded, with nothing in it that a browser would obey; all of
it that is kept leaves as a download and is never a page.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import Response

from postroom.accounts.values import Person, Role
from postroom.admin.addresses import ReturnsAddress, plain
from postroom.admin.contents import LONGEST_SOURCE
from postroom.admin.contexts import ReturnDetailPage, ReturnsPage
from postroom.admin.downloads import download
from postroom.admin.notices import read_notice
from postroom.admin.places import operations_of, root_of
from postroom.admin.rendering import render
from postroom.admin.security import needs, safe_next
from postroom.admin.visit import address_of, keeper
from postroom.admin.workshop import workshop_of
from postroom.operate.came_back import WholeReturn
from postroom.operate.visible import visible
from postroom.store.sensitive import REFUSED

router = APIRouter(include_in_schema=False)

Viewer = Annotated[Person, Depends(needs(Role.VIEWER))]

SHOWN = 50
"""Of them on a page."""


@router.get("/admin/returns")
async def returns(request: Request, person: Viewer) -> Response:
    """What came back, the latest first; by kind, by address or email, or only what is unclear."""
    address = ReturnsAddress.read(request.query_params)
    found = await operations_of(request).returns(
        address.search, limit=SHOWN, before=address.before or None, workspaces=person.workspaces
    )
    page = ReturnsPage(address=address, found=found)
    notice = read_notice(request.query_params)
    return render(request, "returns.html", person=person, notice=notice, section="returns", page=page)


@router.get("/admin/returns/{id}")
async def one_return(request: Request, person: Viewer, id: str) -> Response:
    """One of it: what was read, what it is about, what followed, and the message as text."""
    whole = await operations_of(request).returned(id, workspaces=person.workspaces)
    content, size = (whole.raw.content, whole.raw.size) if whole.raw else (b"", 0)
    page = ReturnDetailPage(
        whole=whole,
        source=await workshop_of(request).do(visible, content[:LONGEST_SOURCE].decode("utf-8", "replace")),
        cut=size > min(len(content), LONGEST_SOURCE),
        back=safe_next(request, plain(request.query_params.get("next")) or f"{root_of(request)}/admin/returns"),
    )
    return render(request, "return.html", person=person, section="returns", page=page)


@router.get("/admin/returns/{id}/source")
async def source(request: Request, person: Viewer, id: str) -> Response:
    """The message as it came, as far as it is kept. Of a sensitive email there is none, and who asked is on record."""
    whole: WholeReturn = await operations_of(request).returned(id, workspaces=person.workspaces)
    if whole.secret:
        about = str(whole.view.kept.email_id)
        await keeper(request).note(person.name, REFUSED, address=address_of(request), id=about, act="show")
    if whole.raw is None:
        raise HTTPException(404)
    return download(whole.raw.content, filename=f"return-{whole.view.kept.id}.txt", media_type="text/plain")

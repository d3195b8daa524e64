"""Files out of emails. They leave as downloads and are never shown as pages, whatever they claim to be."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import Response

from postroom.accounts.values import Person, Role
from postroom.admin.places import operations_of
from postroom.admin.security import needs
from postroom.admin.visit import address_of, keeper
from postroom.compose import Letter
from postroom.store.sensitive import REFUSED

router = APIRouter(include_in_schema=False)

Viewer = Annotated[Person, Depends(needs(Role.VIEWER))]


@router.get("/admin/email-queue/{id}/source")
async def source(request: Request, person: Viewer, id: str, version: int | None = None) -> Response:
    """The whole message as it travels."""
    letter = await _letter(request, person, id, version)
    return download(letter.as_bytes(), filename=f"{id}.eml")


@router.get("/admin/email-queue/{id}/attachments/{number}")
async def attachment(request: Request, person: Viewer, id: str, number: int, version: int | None = None) -> Response:
    """One attachment, counted from 1."""
    letter = await _letter(request, person, id, version)
    if not 1 <= number <= len(letter.attachments):
        raise HTTPException(404)
    found = letter.attachments[number - 1]
    return download(found.content, filename=found.filename)


def download(content: bytes, *, filename: str, media_type: str = "application/octet-stream") -> Response:
    """Octets to be saved. The type tells nothing, nothing is guessed, and shown all the same it could do nothing."""
    return Response(
        content,
        media_type=media_type,
        headers={
            "Content-Disposition": f"attachment; filename*=UTF-8''{quote(filename, safe='')}",
            "X-Content-Type-Options": "nosniff",
            "Content-Security-Policy": "default-src 'none'; sandbox",
            "Cache-Control": "no-store",
        },
    )


async def _letter(request: Request, person: Person, id: str, version: int | None) -> Letter:
    """What may be shown. Of a sensitive email there is nothing, as of one that is not there, and it is on record who
    asked."""
    letter = await operations_of(request).letter(id, version, workspaces=person.workspaces)
    if letter is None:
        await keeper(request).note(person.name, REFUSED, address=address_of(request), id=id, act="show")
        raise HTTPException(404)
    return letter

"""The audit log: who did what, or was kept from it. For admins who may see every workspace."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse

from postroom.accounts.names import printable
from postroom.accounts.values import Person, Role
from postroom.admin.addresses import AuditAddress
from postroom.admin.contexts import AuditLogPage
from postroom.admin.errors import ApiError
from postroom.admin.rendering import render
from postroom.admin.security import needs
from postroom.admin.visit import keeper

router = APIRouter(include_in_schema=False)

LINES = 100


async def auditor(person: Annotated[Person, Depends(needs(Role.ADMIN))]) -> Person:
    """A dependency: somebody who may read the audit log."""
    if not person.may_audit:
        raise ApiError(
            status=403,
            code="not_allowed",
            message="the audit log tells of every workspace, and you may not see them all",
            remedy="ask an admin of every workspace",
        )
    return person


@router.get("/admin/audit")
async def audit(request: Request, person: Annotated[Person, Depends(auditor)]) -> HTMLResponse:
    """Who did what, newest first; of one person or one act only, if asked."""
    address = AuditAddress.read(request.query_params)
    found = await keeper(request).audit(
        actor=printable(address.who) or None, what=printable(address.act) or None, before=address.place, limit=LINES
    )
    page = AuditLogPage(address=address, found=found)
    return render(request, "audit.html", person=person, section="audit", page=page)

"""`/metrics` of the admin app: behind the same door as everything else, for a signed-in person or an API token."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import PlainTextResponse

from postroom.accounts.values import Person, Role
from postroom.admin.errors import ApiError
from postroom.admin.places import operations_of
from postroom.admin.security import needs
from postroom.admin.shapes import ErrorShape
from postroom.metrics.families import text_of

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_REFUSALS = {
    401: "Nobody is signed in, or the token stands for nothing.",
    403: "The person may not see every workspace.",
    503: "The database cannot be reached just now.",
}

router = APIRouter(tags=["metrics"])


@router.get(
    "/metrics",
    response_class=PlainTextResponse,
    responses={status: {"model": ErrorShape, "description": why} for status, why in _REFUSALS.items()},
)
async def metrics(request: Request, person: Annotated[Person, Depends(needs(Role.VIEWER))]) -> PlainTextResponse:
    """What the database knows, in Prometheus' text format."""
    if person.workspaces is not None:
        raise ApiError(
            status=403,
            code="not_allowed",
            message="metrics are about all workspaces, and this person may see some",
            remedy="use a token of somebody who may see every workspace",
        )
    return PlainTextResponse(text_of(await operations_of(request).standing()), media_type=CONTENT_TYPE)

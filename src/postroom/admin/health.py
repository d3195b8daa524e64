"""For whoever keeps processes running: is this one up, and can it work? Open to all, and tells nothing else."""

from __future__ import annotations

from fastapi import APIRouter, Request

from postroom.admin.errors import ApiError
from postroom.admin.shapes import ErrorShape, HealthShape
from postroom.outbox import AsyncOutbox
from postroom.store.schema import ledger, missing

router = APIRouter(tags=["health"])


@router.get("/healthz")
async def alive() -> HealthShape:
    """The process is up."""
    return HealthShape(status="ok")


@router.get("/readyz", responses={503: {"model": ErrorShape, "description": "It cannot work just now."}})
async def ready(request: Request) -> HealthShape:
    """The database answers and its tables are those of this version."""
    outbox: AsyncOutbox = request.app.state.operations.outbox
    dialect = outbox.database.dialect
    applied = await outbox.database.run(ledger(dialect.tables), writes=False)
    if missing(dialect.name, applied):
        raise ApiError(
            status=503,
            code="schema_not_ready",
            message="the database's tables are of an earlier version",
            remedy="run `postroom migrate`",
            headers={"Retry-After": "5"},
        )
    return HealthShape(status="ok")

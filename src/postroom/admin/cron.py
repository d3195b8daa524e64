"""`POST /api/cron/send-emails`: what a host's cron calls where no worker can stay running.

It is open to whoever shows the secret of `POSTROOM_CRON_SECRET`, and to nobody else: no session, no API token, no form.
Without that setting it is not there.
"""

from __future__ import annotations

import time
from typing import Annotated, Any, cast

from fastapi import APIRouter, Header, Request
from pydantic import SecretStr

from postroom.accounts.chance import digest, same
from postroom.admin.campaign_shapes import FailureShape, Success
from postroom.admin.errors import ApiError
from postroom.admin.limits import Limiter
from postroom.admin.places import operations_of
from postroom.admin.security import too_many
from postroom.admin.shapes import Shape
from postroom.admin.ticking import Tick, Ticking
from postroom.admin.visit import address_of
from postroom.errors import ConfigurationError

_ERRORS = {
    401: "The secret is missing, or another one.",
    404: "`POSTROOM_CRON_SECRET` is not set.",
    409: "This process may send nothing, or the database belongs to another deployment.",
    422: "The request is not understood.",
    429: "Too many secrets that were wrong.",
    503: "The database cannot be reached just now.",
}
_RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": FailureShape, "description": words} for status, words in _ERRORS.items()
}

router = APIRouter(prefix="/api/cron", tags=["cron"])


class TickShape(Shape):
    """What was done. With `running`, nothing: an earlier request is at it."""

    running: bool
    sent: int
    failed: int
    left_due: int

    @classmethod
    def of(cls, tick: Tick | None) -> TickShape:
        done = tick or Tick()
        return cls(running=tick is None, sent=done.sent, failed=done.failed, left_due=done.left_due)


@router.post("/send-emails", responses=_RESPONSES)
async def send_emails(
    request: Request,
    authorization: Annotated[str | None, Header(description="`Bearer` and the secret; or …")] = None,
    x_cron_secret: Annotated[str | None, Header(description="… the secret alone.")] = None,
) -> Success[TickShape]:
    """Send what is due, mail of campaigns included, for at most 20 s; then answer. Two at once do not overlap."""
    settings = operations_of(request).outbox.settings
    _check_secret(request, settings.cron_secret, x_cron_secret or _bearer(authorization))
    if not settings.worker_enabled:
        raise ApiError(
            status=409,
            code="not_done",
            message="EMAIL_WORKER_ENABLED is false: this process sends nothing",
            remedy="call a process that may send",
        )
    ticking = cast("Ticking", request.app.state.ticking)
    try:
        return Success(data=TickShape.of(await ticking.tick()))
    except ConfigurationError as error:  # nothing that whoever asks could change about the request
        remedy = "change the settings of the web app"
        raise ApiError(status=409, code="not_done", message=str(error), remedy=remedy) from error


def _check_secret(request: Request, expected: SecretStr | None, shown: str) -> None:
    """Refuse whoever does not know the secret; how long that takes tells nothing about it."""
    if expected is None or not expected.get_secret_value():
        raise ApiError(
            status=404,
            code="not_found",
            message="there is nothing at this address",
            remedy="set POSTROOM_CRON_SECRET, if emails are to be sent by cron",
        )
    # Digests, for comparing texts of different lengths would tell the length.
    if same(digest(shown), digest(expected.get_secret_value())):
        return
    limiter: Limiter = request.app.state.forgeries
    if wait := limiter.wait(address_of(request), time.monotonic()):
        raise too_many(wait, "too many secrets that are wrong")
    raise ApiError(
        status=401,
        code="bad_secret",
        message="the secret is missing, or another one",
        remedy="send `Authorization: Bearer` with what POSTROOM_CRON_SECRET says",
    )


def _bearer(authorization: str | None) -> str:
    scheme, _, shown = (authorization or "").partition(" ")
    return shown.strip() if scheme.lower() == "bearer" else ""

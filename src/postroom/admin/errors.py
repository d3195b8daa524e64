"""Every error of the web app in one shape: `{"error": {"code": "…", "message": "…", "remedy": "…"}}`.

Where answers say whether they are good news (`{"success": true, "data": …}`), an error says `"success": false` too.

What happened, under a name that programs can trust, and what to do next. Nothing that was sent to us is repeated, so
an error can be shown and logged as it is. People who look at pages get the same words on a page, and are not sent to
places for programs.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response
from starlette.routing import Match

from postroom.admin.places import path_of
from postroom.admin.rendering import environment, render
from postroom.admin.ways import list_of, page_before, page_meant, page_of_act
from postroom.errors import (
    ConfigurationError,
    EmailNotFound,
    InvalidCampaign,
    InvalidEmail,
    NotApplicable,
    NotInWorkspace,
    PostroomError,
    SchemaError,
    SensitiveEmail,
    StoreUnavailable,
    UnreadableEmail,
)
from postroom.operate import RouteNotFound, RouteShared
from postroom.operate.came_back import ReturnNotFound
from postroom.operate.suppression_rights import SAID_NO, RemovalUnconfirmed, SuppressionNotFound, SuppressionShared

ERROR_PAGE = "error.html"

ENVELOPED = ("/api/campaigns", "/api/senders", "/api/workspaces", "/api/cron")
"""Beneath these every answer is `{"success": …}`, with `data` or `error`."""

_LISTED = {
    "campaign": ("take one from the list of campaigns", "/api/campaigns"),
    "sequence": ("take that of a campaign in the list", "/api/campaigns"),
    "sender": ("take one from the list of senders", "/api/senders"),
}
"""Where programs find what there is; on pages, the list is linked."""

_METHODS = ("DELETE", "GET", "PATCH", "POST", "PUT")


class ApiError(Exception):
    """Something that the caller is told."""

    def __init__(
        self,
        *,
        status: int,
        code: str,
        message: str,
        remedy: str,
        on_page: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """`on_page`: what to do next for whoever looks at pages, where that is something else."""
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.remedy = remedy
        self.on_page = on_page or remedy
        self.headers: Mapping[str, str] = headers or {}

    def as_record(self) -> dict[str, Any]:
        return {"error": {"code": self.code, "message": self.message, "remedy": self.remedy}}


def install(app: FastAPI) -> None:
    """Give every error of this app the one shape."""
    app.add_exception_handler(ApiError, _told)
    app.add_exception_handler(PostroomError, _told)
    app.add_exception_handler(RequestValidationError, _told)
    app.add_exception_handler(HTTPException, _told)
    app.add_exception_handler(Exception, _told)


async def _told(request: Request, error: Exception) -> Response:
    told = api_error(error)
    if told.status == 404 and (meant := page_meant(request)):
        return RedirectResponse(meant, status_code=307)
    if told.status == 405:
        if request.method in ("GET", "HEAD") and (page := page_of_act(request)):
            return RedirectResponse(page, status_code=303)
        told.headers = {"Allow": ", ".join(_methods_at(request))}
    if path_of(request).startswith("/admin") and _has_error_page():
        return render(
            request,
            ERROR_PAGE,
            status=told.status,
            headers=told.headers,
            error=told,
            back=page_before(request),
            list=list_of(request),
        )
    record = told.as_record()
    if path_of(request).startswith(ENVELOPED):
        record = {"success": False, **record}
    return JSONResponse(record, status_code=told.status, headers=dict(told.headers))


@cache
def _has_error_page() -> bool:
    return ERROR_PAGE in environment().list_templates()


def _methods_at(request: Request) -> list[str]:
    """Every method that some route takes at this address; Starlette names those of the first one only."""
    routes = request.app.routes
    return [
        method
        for method in _METHODS
        if any(route.matches({**request.scope, "method": method})[0] is Match.FULL for route in routes)
    ]


def api_error(error: Exception) -> ApiError:
    """What an error means to whoever sent the request."""
    match error:
        case ApiError():
            return error
        case RequestValidationError():
            return _invalid_request(error)
        case HTTPException():
            return _of_http(error)
        case PostroomError():
            return _of_postroom(error)
        case _:
            return ApiError(
                status=500,
                code="internal_error",
                message="something went wrong here that should not",
                remedy="try again; the log of the web process tells more",
            )


def _of_postroom(error: PostroomError) -> ApiError:
    match error:
        case EmailNotFound():
            return _say(404, "email_not_found", error, "search for it, or look at a list without filters")
        case RouteShared():
            return _say(403, "not_allowed", error, "ask somebody who may see every workspace")
        case RouteNotFound():
            return _say(404, "transport_not_found", error, "take a name from the dashboard")
        case SuppressionNotFound():
            return _say(404, "suppression_not_found", error, "search for it by its address")
        case ReturnNotFound():
            return _say(404, "return_not_found", error, "search for it by the address it is from or about")
        case SuppressionShared():
            message, _, remedy = str(error).partition("; ")
            return ApiError(status=403, code="not_allowed", message=message, remedy=remedy)
        case RemovalUnconfirmed():
            return ApiError(
                status=409, code="not_confirmed", message=SAID_NO, remedy="add `confirm=true` if they have asked for it"
            )
        case UnreadableEmail():
            return _say(409, "unreadable_email", error, "the page of the email says what can be done to it")
        case SensitiveEmail():
            return ApiError(
                status=403,
                code="sensitive_email",
                message=f"cannot {error.act} email {error.id}: {error.problem}",
                remedy=error.remedy,
            )
        case NotApplicable():
            return _say(409, "not_applicable", error, "load the email again and see what can be done to it now")
        case InvalidEmail():
            return ApiError(
                status=422, code="invalid_email", message=f"{error.field}: {error.problem}", remedy=error.remedy
            )
        case InvalidCampaign(field="status" | "version"):
            return ApiError(status=409, code="not_applicable", message=error.problem, remedy=error.remedy)
        case InvalidCampaign():
            return ApiError(
                status=422, code="invalid_campaign", message=f"{error.field}: {error.problem}", remedy=error.remedy
            )
        case NotInWorkspace():
            message, _, remedy = str(error).partition("; ")
            on_page = ""
            if error.what in _LISTED:  # there is no command line here
                on_page, address = _LISTED[error.what]
                remedy = f"{on_page} (`GET {address}`)"
            return ApiError(status=404, code=f"{error.what}_not_found", message=message, remedy=remedy, on_page=on_page)
        case StoreUnavailable():
            return _away("store_unavailable", "the database cannot be reached just now", "try again in a moment")
        case SchemaError():
            return _away(
                "schema_not_ready", "the database's tables are absent or of another version", "run `postroom migrate`"
            )
        case ConfigurationError():
            return _say(422, "invalid_request", error, "change the request and send it again")
        case _:
            return _say(409, "not_done", error, "load the page again and see how things stand")


def _away(code: str, message: str, remedy: str) -> ApiError:
    """Without the words of the database, which may name hosts and users."""
    return ApiError(status=503, code=code, message=message, remedy=remedy, headers={"Retry-After": "5"})


def _say(status: int, code: str, error: Exception, remedy: str) -> ApiError:
    return ApiError(status=status, code=code, message=str(error), remedy=remedy)


def _of_http(error: HTTPException) -> ApiError:
    known = {
        404: ("not_found", "there is nothing at this address", "look at the list of routes in the documentation"),
        405: ("method_not_allowed", "this address does not take that method", "use one that `Allow` names"),
        408: ("too_slow", "the request took too long to arrive", "send it again, on a quicker connection"),
        413: ("too_large", "the request is longer, or holds more values, than is read here", "send less at once"),
        503: ("busy", "too much is being asked for at this moment", "try again in a moment"),
    }
    phrase = HTTPStatus(error.status_code).phrase
    usual = (phrase.lower().replace(" ", "_"), phrase.lower(), "change the request and send it again")
    code, message, remedy = known.get(error.status_code, usual)
    return ApiError(
        status=error.status_code,
        code=code,
        message=message,
        remedy=remedy,
        on_page="go on from one of these pages" if error.status_code in (404, 405) else "",
        headers=dict(error.headers or {}),
    )


def _invalid_request(error: RequestValidationError) -> ApiError:
    """The first thing that is wrong with a request, by its place in it."""
    first = error.errors()[0]
    if first["loc"][0] == "body" and (told := _no_json(first, error.body)):
        return ApiError(status=422, code="invalid_request", message=f"body: {told[0]}", remedy=told[1])
    place = ".".join(str(part) for part in first["loc"])
    return ApiError(
        status=422,
        code="invalid_request",
        message=f"{place}: {first['msg']}",
        remedy="change the request and send it again",
    )


def _no_json(first: Mapping[str, Any], body: object) -> tuple[str, str] | None:
    """What is wrong with a body that was not understood as JSON at all, and what to do."""
    if first["type"] == "json_invalid" and isinstance(body, str):
        before = body[: first["loc"][1]]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        return f"is no JSON: {first['ctx']['error']} in line {line}, column {column}", "correct it and send it again"
    if isinstance(body, bytes):  # as it came: nobody has said that it is JSON
        return "is not said to be JSON", "send it with the header `Content-Type: application/json`"
    return None

"""What is wrong with a request, in one shape for programs and on a page for people."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from postroom.inbox.rendering import render

_CODES = {404: "not_found", 405: "method_not_allowed", 422: "invalid"}


class NoSuchMessage(HTTPException):
    """The message, or its part, is not there."""

    def __init__(self, what: str) -> None:
        super().__init__(404, f"There is no {what} here: it was deleted, or it never came.")


def install(app: FastAPI) -> None:
    """Give every error its shape."""
    app.add_exception_handler(HTTPException, _told)
    app.add_exception_handler(RequestValidationError, _invalid)


def _told(request: Request, error: Any) -> Response:
    return _answer(request, error.status_code, str(error.detail), headers=error.headers)


def _invalid(request: Request, error: Any) -> Response:
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    return _answer(request, 422, f"{place}: {first['msg']}")


def _answer(request: Request, status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    if not request.url.path.startswith("/api/"):
        return render(request, "problem.html", status=status, message=message)
    remedy = "Look at GET /api/inbox/messages for what is there." if status == 404 else "Correct the request."
    shape = {"error": {"code": _CODES.get(status, "failed"), "message": message, "remedy": remedy}}
    return JSONResponse(shape, status_code=status, headers=headers)

"""Who gets through: roles, sign-in, forged forms, and the headers of every answer.

Every route but the sign-in itself depends on `needs(role)`; a test walks the route table to prove it. A sign-in whose
code was not given yet is nobody. What is asked for with a session, and changes anything, must come from our own pages:
the browser says so (`Sec-Fetch-Site`, or `Origin`), and the form proves it with a token. API tokens are not sent by
browsers on their own, and need neither.
"""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable
from math import ceil
from typing import Any
from urllib.parse import quote, urlsplit

from fastapi import FastAPI, Request
from starlette.responses import RedirectResponse, Response

from postroom.accounts.chance import same
from postroom.accounts.door import DoorKeeper
from postroom.accounts.names import printable
from postroom.accounts.values import Person, Role
from postroom.admin.bodies import BodyLimit, largest_body
from postroom.admin.economy import Economy
from postroom.admin.errors import ApiError
from postroom.admin.filled_in import read_form
from postroom.admin.forgery import covered, uncovered
from postroom.admin.headers import SecurityHeaders, content_policy
from postroom.admin.limits import Limiter
from postroom.admin.notices import SIGNED_OUT, with_notice
from postroom.admin.places import path_of, root_of
from postroom.admin.visit import Visit, address_of, cookie_ending, is_dev, keeper, known_visit, visit_of
from postroom.admin.ways import page_before, page_of_act
from postroom.outbox import AsyncOutbox

__all__ = ["content_policy", "csrf_token", "install", "needs", "safe_next", "sign_in_path"]

SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
_CONVERTER = re.compile(r":\w+}")
"""`{id:kind}` is `{id}` in the audit log."""
_FOR_PROGRAMS = "show an API token, as `Authorization: Bearer …`: `postroom user token` makes one"
"""What a program does, which has no page to come from."""
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


class SignInNeeded(Exception):
    """A page was asked for by somebody who is not signed in."""

    def __init__(self, half: bool) -> None:
        self.half = half


def install(app: FastAPI, outbox: AsyncOutbox, settings: Any = None, *, dev: bool = False) -> None:
    """Make `needs` and `csrf_token` work in this app, and put the headers on every answer.

    `dev` (or `settings.dev`) lets whoever sits at this machine in without a sign-in.
    """
    app.state.door_keeper = DoorKeeper(outbox)
    app.state.dev = dev or bool(getattr(settings, "dev", False))
    app.state.cookie_ending = cookie_ending(outbox.settings.region)
    app.state.knocks = Limiter(a_minute=20, at_once=10)
    app.state.forgeries = Limiter(a_minute=60, at_once=30)
    app.add_exception_handler(SignInNeeded, _to_sign_in)
    # Base64 makes attachments a third longer, and there is JSON around them.
    app.add_middleware(BodyLimit, most=largest_body(outbox.rules.limits))
    inner = app.build_middleware_stack
    # Around everything, so that the answer to a bug carries the headers, too.
    app.build_middleware_stack = lambda: SecurityHeaders(Economy(inner()))  # type: ignore[method-assign]


def needs(role: Role) -> Callable[[Request], Awaitable[Person]]:
    """A dependency: the person who asks, fully signed in and with at least this role.

    `person: Person = Depends(needs(Role.VIEWER))`. Anybody else gets 401 or 403 from the API, and the sign-in page from
    a page. What changes anything is checked for forgery. An act writes its own line to the audit log; a refusal is
    written here.
    """

    async def allowed(request: Request) -> Person:
        visit = await visit_of(request)
        if visit.person is None:
            raise _refusal(request, visit)
        if not visit.person.role.may(role):
            await _note_refusal(request, visit, role)
            raise _error(403, "not_allowed", f"this needs the role {role}", "ask an admin to do it, or for the role")
        if request.method not in SAFE_METHODS:
            await check_forgery(request)
        return visit.person

    return allowed


def csrf_token(request: Request) -> str:
    """What a form of this request's page carries as `csrf`, or a script as `X-CSRF-Token`."""
    visit = known_visit(request)
    return covered(visit.csrf) if visit is not None else ""


async def check_forgery(request: Request) -> None:
    """Refuse what was not sent from our own pages. Nothing is asked of API tokens."""
    visit = await visit_of(request)
    if visit.by_token is not None:
        return
    shown = request.headers.get("x-csrf-token") or await _form_token(request)
    if not same_origin(request) or not visit.csrf or not same(visit.csrf, uncovered(shown)):
        remedy = "load the page again" if _is_page(request) else _FOR_PROGRAMS
        raise _error(403, "forged", "this did not come from a page of ours, or the page is too old", remedy)


def same_origin(request: Request) -> bool:
    """Whether the browser says that one of our pages sent it; one that says nothing is left to the form's token."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin = request.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == request.headers.get("host", "")


def safe_next(request: Request, wanted: str | None) -> str:
    """Where to go after signing in: a page of this app, or its first page. Never another host."""
    home = f"{_root(request)}/admin"
    if not wanted or not wanted.isascii() or not wanted.isprintable() or "\\" in wanted:
        return home
    path = wanted.partition("?")[0]
    if path != home and not path.startswith(f"{home}/"):
        return home
    return home if ".." in path.split("/") or "//" in path else wanted


def sign_in_path(request: Request, step: str = "") -> str:
    """`/admin/sign-in`, or a step beneath it, wherever the app is mounted."""
    return f"{_root(request)}/admin/sign-in{step}"


def retry_after(request: Request) -> float:
    """Seconds until this address may knock again; 0, and it counts, when it may now."""
    limiter: Limiter = request.app.state.knocks
    return limiter.wait(address_of(request), time.monotonic())


def _refusal(request: Request, visit: Visit) -> Exception:
    if visit.forged_token:
        limiter: Limiter = request.app.state.forgeries
        if wait := limiter.wait(address_of(request), time.monotonic()):
            return too_many(wait, "too many tokens that stand for nothing")
        return _error(401, "bad_token", "the token stands for nothing", "make one with `postroom user token`")
    if not _is_page(request) or is_dev(request):
        return _error(401, "not_signed_in", "nobody is signed in", "sign in at /admin/sign-in, or show an API token")
    return SignInNeeded(half=visit.half is not None)


async def _to_sign_in(request: Request, needed: Exception) -> Response:
    assert isinstance(needed, SignInNeeded)
    target = sign_in_path(request, "/code" if needed.half else "")
    here = _root(request) + _path(request) + (f"?{request.url.query}" if request.url.query else "")
    if request.method not in SAFE_METHODS:
        # Never done later: whoever signs in may be somebody else, and things may stand otherwise by then.
        here = with_notice(page_before(request) or page_of_act(request) or f"{_root(request)}/admin", SIGNED_OUT)
    if request.method != "HEAD" and safe_next(request, here) == here:
        target += f"?next={quote(here, safe='/')}"
    return RedirectResponse(target, status_code=303)


async def _note_refusal(request: Request, visit: Visit, role: Role) -> None:
    """A line in the audit log: somebody asked for what they may not. What is done writes its own."""
    assert visit.person is not None
    route = request.scope.get("route")
    asked = f"{request.method} {_CONVERTER.sub('}', getattr(route, 'path', _path(request)))}"
    detail = {"token": visit.by_token} if visit.by_token is not None else {}
    address = address_of(request)
    place = {name: printable(str(value)) for name, value in request.path_params.items()}
    await keeper(request).note(
        visit.person.name, "not_allowed", address=address, asked=asked, needs=role, **place, **detail
    )


async def _form_token(request: Request) -> str:
    if not request.headers.get("content-type", "").startswith(_FORMS):
        return ""
    value = (await read_form(request)).get("csrf")
    return value if isinstance(value, str) else ""


def _is_page(request: Request) -> bool:
    return _path(request).startswith("/admin")


def _path(request: Request) -> str:
    """Within this app, wherever it is mounted."""
    return path_of(request)


def _root(request: Request) -> str:
    return root_of(request)


def too_many(wait: float, message: str) -> ApiError:
    seconds = ceil(wait)
    remedy = f"wait {seconds} s"
    return ApiError(status=429, code="too_many", message=message, remedy=remedy, headers={"Retry-After": str(seconds)})


def _error(status: int, code: str, message: str, remedy: str) -> ApiError:
    return ApiError(status=status, code=code, message=message, remedy=remedy)

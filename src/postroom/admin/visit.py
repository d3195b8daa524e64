"""Who a request comes from: found out once for each request, by its cookie or its token."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any, cast
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection, Request
from starlette.responses import Response

from postroom.accounts.chance import keyed, new_token
from postroom.accounts.door import DoorKeeper
from postroom.accounts.values import Person, Role, Session, Stage
from postroom.errors import PostroomError

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
LOCAL_NAMES = {"localhost", "127.0.0.1", "::1"}
_KNOWN = "postroom.visit"
"""In the scope of one request, and not in `request.state`, which a server might share among requests."""
DEVELOPER = Person(id="developer", name="developer", role=Role.ADMIN)
"""Whoever sits at the machine, under `--dev`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """What is known of whoever sent a request."""

    person: Person | None = None
    """Somebody who is let in. A sign-in that was only begun lets nobody in."""
    half: Session | None = None
    """A sign-in that was begun."""
    by_token: str | None = None
    """The label of the API token that was shown."""
    forged_token: bool = False
    """A token was shown that stands for nothing."""
    csrf: str = field(default="", repr=False)
    """What forms must carry; empty where nothing is asked for."""
    form: str | None = field(default=None, repr=False)
    """What the browser's form cookie must hold, when it has none yet."""


def keeper(request: HTTPConnection) -> DoorKeeper:
    return cast("DoorKeeper", request.app.state.door_keeper)


def is_dev(request: HTTPConnection) -> bool:
    return bool(request.app.state.dev)


def address_of(request: HTTPConnection) -> str:
    return request.client.host if request.client else ""


def session_cookie(request: HTTPConnection) -> str:
    """The cookie's name. Behind TLS, one that no other host and no plain connection can plant."""
    name = "__Host-postroom" if request.url.scheme == "https" else "postroom_session"
    return f"{name}{request.app.state.cookie_ending}"


def form_cookie(request: HTTPConnection) -> str:
    name = "__Host-postroom-form" if request.url.scheme == "https" else "postroom_form"
    return f"{name}{request.app.state.cookie_ending}"


def cookie_ending(region: str) -> str:
    """What tells the cookies of one region's desk from those of another's, which a browser sends to both: their path
    is `/`, for `__Host-` wants that, and a port makes no difference to cookies."""
    return f".{_NOT_IN_NAMES.sub('-', region)}" if region else ""


def give_cookie(request: HTTPConnection, response: Response, name: str, value: str) -> None:
    """Ends with the browser's session; when a sign-in ends is up to the server."""
    response.set_cookie(name, value, httponly=True, samesite="lax", secure=request.url.scheme == "https", path="/")


def take_cookie(request: HTTPConnection, response: Response, name: str) -> None:
    response.delete_cookie(name, httponly=True, samesite="lax", secure=request.url.scheme == "https", path="/")


async def visit_of(request: Request) -> Visit:
    """Who it is. Asked of the database once for each request."""
    if _KNOWN not in request.scope:
        request.scope[_KNOWN] = await _found(request)
    visit = cast("Visit | PostroomError", request.scope[_KNOWN])
    if isinstance(visit, PostroomError):
        raise visit
    # For pages to show who is here; what decides looks in the scope. Set anew each time, for the state may be shared.
    request.state.visit = visit
    return visit


def known_visit(request: Request) -> Visit | None:
    """What was found out already."""
    visit = request.scope.get(_KNOWN)
    return visit if isinstance(visit, Visit) else None


def somebody_sends(scope: Mapping[str, Any]) -> bool:
    """Whether a request is known to be from somebody who is let in."""
    visit = scope.get(_KNOWN)
    return isinstance(visit, Visit) and visit.person is not None


async def _found(request: Request) -> Visit | PostroomError:
    """A database that does not answer is remembered too: one request is not somebody's at first and nobody's then."""
    try:
        return await _find_out(request)
    except PostroomError as error:
        return error


async def _find_out(request: Request) -> Visit:
    shown = request.headers.get("authorization")
    if shown is not None:
        return await _by_token(request, shown)
    if is_dev(request):
        return await _developer(request)
    key = await keeper(request).key()
    token = request.cookies.get(session_cookie(request))
    session = await keeper(request).session(token) if token else None
    if session is None or token is None:
        known = request.cookies.get(form_cookie(request))
        form = known or new_token()
        return Visit(csrf=keyed(key, "form", form), form=None if known else form)
    csrf = keyed(key, "csrf", token)
    if session.stage is Stage.FULL:
        return Visit(person=session.person, csrf=csrf)
    return Visit(half=session, csrf=csrf)


async def _by_token(request: Request, shown: str) -> Visit:
    scheme, _, token = shown.partition(" ")
    found = await keeper(request).token(token.strip()) if scheme.lower() == "bearer" else None
    if found is None:
        return Visit(forged_token=True)
    return Visit(person=found.person, by_token=found.label or found.id)


async def _developer(request: Request) -> Visit:
    """Only from this machine, and only under its own name: a hostile page may have its name point here."""
    if not (is_local(address_of(request)) and host_of(request) in LOCAL_NAMES):
        return Visit()
    return Visit(person=DEVELOPER, csrf=keyed(await keeper(request).key(), "csrf", "developer"))


def is_local(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


def host_of(request: HTTPConnection) -> str:
    try:
        return urlsplit(f"//{request.headers.get('host', '')}").hostname or ""
    except ValueError:
        return ""

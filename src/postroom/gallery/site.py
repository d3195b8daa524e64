"""The gallery by itself, for whoever writes templates: `postroom template preview`."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from importlib import resources
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from postroom.admin.headers import SecurityHeaders
from postroom.compose import Email
from postroom.errors import PostroomError
from postroom.gallery.collection import Collection
from postroom.gallery.host import Compose, Note, Posting
from postroom.gallery.routes import build as routes
from postroom.gallery.wording import FILTERS
from postroom.inbox.guard import Guard
from postroom.outbox import Outbox
from postroom.outbox.outcome import SendOutcome

BASE = "/templates"
_REMEMBERED = 100
_LOOK = {"base.css": "text/css", "postroom.svg": "image/svg+xml"}


@cache
def environment() -> Environment:
    """The templates beside this module."""
    templates = Environment(
        loader=PackageLoader("postroom.gallery"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= FILTERS
    return templates


async def everybody() -> None:
    """Whoever gets here at all may look, and send: the guard around the app has seen to it."""


class Preview:
    """The house of one developer. Samples are sent through the outbox that the settings name."""

    base = BASE

    def __init__(self, collection: Collection, outbox: Callable[[], AbstractContextManager[Outbox]] | None) -> None:
        """`outbox` opens it when something is to be sent; None where nothing may be."""
        self.shown = collection
        self._outbox = outbox
        self._last_address = ""
        self._notes: OrderedDict[str, Note] = OrderedDict()

    def collection(self, request: Request) -> Collection:
        return self.shown

    def render(self, request: Request, template: str, *, status: int = 200, **context: Any) -> HTMLResponse:
        page = environment().get_template(template).render({"csrf": "", **context})
        return HTMLResponse(page, status_code=status)

    def posting(self, request: Request) -> Posting:
        if self._outbox is None:
            return Posting(refused="Others can reach this page, so nothing is sent from it. Serve it on 127.0.0.1.")
        return Posting(suggested=self._last_address)

    async def post(self, request: Request, kind: str, compose: Compose, to: str) -> str:
        email = await compose(to)
        self._last_address = to
        outcome = await run_in_threadpool(self._send, email)
        self._notes[outcome.id] = _told(outcome, to)
        while len(self._notes) > _REMEMBERED:
            self._notes.popitem(last=False)
        return outcome.id

    def note(self, request: Request, word: str) -> Note | None:
        return self._notes.get(word)

    def looks(self) -> Callable[..., Awaitable[Any]]:
        return everybody

    sends = looks

    def _send(self, email: Email) -> SendOutcome:
        if self._outbox is None:
            raise PostroomError("nothing is sent from here")
        with self._outbox() as outbox:
            return outbox.send(email)


def _told(outcome: SendOutcome, to: str) -> Note:
    if outcome.sent:
        return Note(text=f"Sent to {to}.")
    return Note(
        text=f"In the outbox for {to}: {outcome.error or 'a worker will send it'}. "
        f"`postroom show {outcome.id}` tells what becomes of it.",
        tone="caution",
    )


def build(preview: Preview, *, allowed_hosts: Sequence[str] = ()) -> ASGIApp:
    """The app, behind its guard: other pages in the developer's browser can neither read it nor have it send."""
    app = FastAPI(title="Postroom templates", docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    app.add_api_route("/", lambda: RedirectResponse(BASE), include_in_schema=False)
    app.add_api_route("/static/{name}", _static, include_in_schema=False)
    app.include_router(routes(preview))
    app.add_exception_handler(HTTPException, _nothing_there)
    return SecurityHeaders(Guard(app, allowed_hosts=allowed_hosts, house="page"))


def _static(name: str) -> Response:
    """The look of the admin pages."""
    if name not in _LOOK:
        raise HTTPException(404)
    content = resources.files("postroom.admin").joinpath("static", name).read_bytes()
    return Response(content, media_type=_LOOK[name], headers={"Cache-Control": "no-cache"})


def _nothing_there(request: Request, error: Any) -> Response:
    told: Mapping[str, Any] = {"gallery": BASE, "watched": "", "csrf": ""}
    return HTMLResponse(environment().get_template("gallery/nothing.html").render(told), status_code=error.status_code)

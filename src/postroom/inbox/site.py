"""The web application of the dev inbox, put together."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

from fastapi import APIRouter, FastAPI
from fastapi.responses import Response
from starlette.types import ASGIApp

from postroom.admin.headers import SecurityHeaders
from postroom.inbox import api, gallery, pages, problems
from postroom.inbox.guard import Guard

if TYPE_CHECKING:
    from postroom.inbox.server import DevInbox

_STATIC = {
    "base.css": ("postroom.admin", "text/css"),
    "postroom.svg": ("postroom.admin", "image/svg+xml"),
    "inbox.css": ("postroom.inbox", "text/css"),
    "inbox.js": ("postroom.inbox", "text/javascript"),
}
"""Every file there is, and whose it is: the look is that of the admin pages."""

static = APIRouter(include_in_schema=False)


@static.get("/static/{name}")
def show_static(name: str) -> Response:
    """A style sheet, a script or a picture of ours."""
    if name not in _STATIC:
        raise problems.NoSuchMessage("file")
    package, media_type = _STATIC[name]
    content = resources.files(package).joinpath("static", name).read_bytes()
    return Response(content, media_type=media_type, headers={"Cache-Control": "no-cache"})


def build(inbox: DevInbox) -> ASGIApp:
    """Pages and API for this inbox, behind their guard."""
    app = FastAPI(
        title="Postroom dev inbox",
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/inbox/openapi.json",
        redirect_slashes=False,
    )
    app.state.inbox = inbox
    for router in (api.router, pages.router, gallery.router, static):
        app.include_router(router)
    problems.install(app)
    return SecurityHeaders(Guard(app, allowed_hosts=inbox.allowed_hosts))

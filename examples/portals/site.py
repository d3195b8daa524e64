"""The application as one ASGI app: the portals, the admin portal, and the workers of all regions inside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import FileResponse, RedirectResponse, Response
from starlette.applications import Starlette
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

import postroom.web
from examples.portals import entrance, inviting, mail, way_back
from examples.portals.company import REGIONS, Company
from examples.portals.guard import Guard
from examples.portals.pages import HERE, VIEWS, Pages
from examples.portals.words import words_of

LOGOS = {portal.name: portal.root / "logo.png" for portal in mail.PORTALS}


def build(company: Company, *, inboxes: Mapping[str, str]) -> Starlette:
    """The app. `inboxes`: where the mail of each region can be read, in development."""
    return Starlette(
        routes=[
            Route("/staff", lambda request: RedirectResponse("/staff/regions")),
            Mount("/staff", postroom.web.desk(company.regions)),
            Mount("/", _portals(company, inboxes)),
        ],
        # A worker for each region: they start with the application, and stop with it.
        lifespan=postroom.web.lifespan(company.regions, grace="10s"),
    )


def _portals(company: Company, inboxes: Mapping[str, str]) -> FastAPI:
    around: dict[str, Any] = {"regions": REGIONS, "inboxes": inboxes}
    app = FastAPI(openapi_url=None)
    app.state.pages = {name: Pages(doors, around=around) for name, doors in company.doors.items()}
    app.add_middleware(Guard)
    app.mount("/static", StaticFiles(directory=HERE / "static"))

    @app.get("/")
    def start(request: Request) -> Response:
        portals = [(doors.portal, words_of(name, "en")) for name, doors in company.doors.items()]
        return VIEWS.TemplateResponse(request, "start.html", {**around, "portals": portals})

    @app.get("/logo/{name}.png")
    def logo(name: str) -> Response:
        if name not in LOGOS:
            raise HTTPException(404)
        return FileResponse(LOGOS[name], headers={"cache-control": "max-age=3600"})

    for each in (inviting, entrance, way_back):
        app.include_router(each.router)
    return app

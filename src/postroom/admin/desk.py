"""One desk over several regions: an overview of all, and beneath it the admin app of each.

    /regions              counts and states of all regions, for whoever is signed in to at least one
    /regions/deu1/admin   the admin app of that region, with its own people, sessions and codes
    /u/…                  where people unsubscribe, in the region that their link is of

Nothing that belongs to a person is read for the overview: it shows numbers, and states in words of ours. Who may see a
region's emails is who has an account in that region, asked of that region's own database; this app has no account of
its own, and a session in one region opens nothing in another.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse
from fastapi.staticfiles import StaticFiles
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from postroom.accounts.values import Person
from postroom.admin.app import STATIC, build
from postroom.admin.economy import Economy, tag_of
from postroom.admin.errors import ApiError, api_error
from postroom.admin.headers import SecurityHeaders
from postroom.admin.places import path_of, root_of
from postroom.admin.region_cards import RegionCard, RegionsPage
from postroom.admin.rendering import environment
from postroom.admin.unsubscribing import unsubscribe_route
from postroom.admin.visit import session_cookie, visit_of
from postroom.errors import PostroomError
from postroom.operate.regions import PATIENCE, Reach, RegionView, look_at
from postroom.outbox import AsyncOutbox


def build_desk(outboxes: Mapping[str, AsyncOutbox], *, unknown: Collection[str] = (), dev: bool = False) -> ASGIApp:
    """The app. The outboxes stay the caller's. `unknown`: regions whose databases this machine does not know."""
    apps = {name: build(outbox, dev=dev, among_regions=True) for name, outbox in outboxes.items()}
    desk = _Desk(outboxes, apps, unknown=tuple(unknown), dev=dev)
    own = Starlette(
        routes=[
            Route("/regions", desk.overview),
            Route("/healthz", _alive),
            unsubscribe_route(outboxes),
            Mount("/admin/static", StaticFiles(directory=STATIC)),
            *(Route(path, _to_overview) for path in ("/", "/regions/", "/admin")),
        ],
        exception_handlers={HTTPException: desk.told, Exception: desk.told},
    )
    regions = [Mount(f"/regions/{name}", app) for name, app in apps.items()]
    return SecurityHeaders(Starlette(routes=[*regions, Mount("/", Economy(own))]))


class _Desk:
    """The pages that are of no region."""

    def __init__(
        self, outboxes: Mapping[str, AsyncOutbox], apps: Mapping[str, FastAPI], *, unknown: tuple[str, ...], dev: bool
    ) -> None:
        self._outboxes = outboxes
        self._apps = apps
        self._unknown = unknown
        self._dev = dev

    async def overview(self, request: Request) -> Response:
        """How all regions are, for somebody who is let in to one of them; else where to sign in, and no more."""
        visits = {
            name: asyncio.create_task(self._visitor(request, name), name=f"visit {name}")
            for name in self._apps
            if self._dev or self._brings_a_session(request, name)
        }
        if not await _somebody(visits.values()):
            return self._page(request, "regions_outside.html", names=list(self._apps))
        # Begun as soon as one region has let somebody in: a region that is away is waited for once, not twice.
        views = await asyncio.gather(*(look_at(name, outbox) for name, outbox in self._outboxes.items()))
        people = {name: person for name, visit in visits.items() if (person := await visit) is not None}
        views = [*views, *(RegionView(name=name, reach=Reach.UNKNOWN) for name in self._unknown)]
        cards = [RegionCard.of(view, signed_in=view.name in people) for view in views]
        numbers = any(person.workspaces is None for person in people.values())
        return self._page(request, "regions.html", section="regions", page=RegionsPage.of(cards, numbers=numbers))

    def _brings_a_session(self, request: Request, name: str) -> bool:
        return session_cookie(self._seen_from(request, name)) in request.cookies

    async def _visitor(self, request: Request, name: str) -> Person | None:
        """Who a region knows this browser as; None where nobody, or where the region does not answer."""
        try:
            async with asyncio.timeout(PATIENCE):
                return (await visit_of(self._seen_from(request, name))).person
        except (TimeoutError, PostroomError, sqlite3.Error, OSError):
            return None

    def _seen_from(self, request: Request, name: str) -> Request:
        """The same request as the app of one region would be asked it. By its cookies alone: a token is no visitor."""
        headers = [(key, value) for key, value in request.scope["headers"] if key != b"authorization"]
        return Request({**request.scope, "app": self._apps[name], "headers": headers, "state": {}})

    async def told(self, request: Request, error: Exception) -> Response:
        """What went wrong, on a page; the address may be one of a region that there is not."""
        told = api_error(error)
        if path_of(request).startswith("/regions/") and told.status == 404:
            known = ", ".join(self._apps)
            told = ApiError(
                status=404, code="not_found", message="there is no such region", remedy=f"choose one of {known}"
            )
        return self._page(request, "desk_error.html", status=told.status, error=told)

    def _page(self, request: Request, template: str, *, status: int = 200, **context: Any) -> HTMLResponse:
        common: dict[str, Any] = {
            "root": root_of(request),
            "now": datetime.now(UTC),
            "dev": self._dev,
            "person": None,
            "csrf": "",
            "delivery": None,
            "region": "",
            "regions": None,
            "notice": None,
            "section": None,
        }
        page = environment().get_template(template).render(common | context)
        return HTMLResponse(page, status_code=status, headers={"Cache-Control": "no-store", "ETag": tag_of(page)})


async def _somebody(visits: Collection[asyncio.Task[Person | None]]) -> bool:
    """Whether one of them turns out to be somebody; the others are not waited for."""
    for visit in asyncio.as_completed(visits):
        if await visit is not None:
            return True
    return False


async def _to_overview(request: Request) -> Response:
    return RedirectResponse(f"{root_of(request)}/regions", status_code=307)


async def _alive(request: Request) -> Response:
    """The process is up; each region has a `/readyz` of its own."""
    return JSONResponse({"status": "ok"})

"""The admin web app: API, pages and sign-in over one outbox, to be served by itself or mounted into another app."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fastapi import Depends, FastAPI, Request
from fastapi.staticfiles import StaticFiles

from postroom import __version__
from postroom.accounts.values import Role
from postroom.admin import (
    api,
    campaign_api,
    campaign_import,
    cron,
    errors,
    gallery,
    health,
    returns_api,
    security,
    suppressions_api,
)
from postroom.admin.described import within
from postroom.admin.launches import Launches
from postroom.admin.ticking import Ticking
from postroom.admin.unsubscribing import unsubscribe_route
from postroom.admin.workshop import Workshop
from postroom.operate import AsyncOperations
from postroom.outbox import AsyncOutbox

PARTS = ("postroom.admin.signin", "postroom.admin.pages", "postroom.admin.gallery", "postroom.metrics.web")
"""Modules with a `router` of their own, by name: metrics stand above this app, and are included if they are there."""

STATIC = Path(__file__).parent / "static"


def build(outbox: AsyncOutbox, *, dev: bool = False, among_regions: bool = False) -> FastAPI:
    """The app. The outbox stays the caller's: it is used here, and closed by whoever opened it.

    With `dev`, whoever sits at this machine is let in without signing in. `among_regions`: it is one of those under a
    desk over regions, at `…/regions/NAME`, and its pages lead back there.
    """
    app = FastAPI(
        title="Postroom",
        version=__version__,
        description="The operator's desk of a Postroom outbox.",
        # The usual documentation pages load scripts from other hosts; the description is served below instead.
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        separate_input_output_schemas=False,
        # Starlette would redirect to whatever host the request names; `errors` leads on within this app.
        redirect_slashes=False,
    )
    app.openapi = lambda: within(outbox.rules.limits, FastAPI.openapi(app))  # type: ignore[method-assign]
    app.state.operations = AsyncOperations(outbox)
    app.state.workshop = Workshop()
    app.state.launches = Launches()
    app.state.ticking = Ticking(outbox)
    app.state.among_regions = among_regions
    errors.install(app)
    security.install(app, outbox, outbox.settings, dev=dev)
    gallery.install(app, outbox, dev=dev)
    app.include_router(health.router)
    app.router.routes.append(unsubscribe_route({outbox.settings.region: outbox}))
    app.include_router(api.router)
    app.include_router(suppressions_api.router)
    app.include_router(returns_api.router)
    app.include_router(campaign_api.router)
    app.include_router(campaign_import.router)
    app.include_router(cron.router)
    app.add_api_route("/api/admin/openapi.json", _description, include_in_schema=False, dependencies=[_VIEWER])
    for part in PARTS:
        if _is_there(part):
            app.include_router(import_module(part).router, include_in_schema=part == PARTS[-1])
    if STATIC.is_dir():
        app.mount("/admin/static", StaticFiles(directory=STATIC), name="static")
    return app


_VIEWER = Depends(security.needs(Role.VIEWER))


async def _description(request: Request) -> dict[str, Any]:
    """The API in OpenAPI's words."""
    app: FastAPI = request.app
    return app.openapi()


def _is_there(module: str) -> bool:
    """Whether a module exists; one that exists and is broken is an error, not an absence."""
    package = module.rpartition(".")[0]
    return find_spec(package) is not None and find_spec(module) is not None

"""The pages of the gallery, for whichever house shows it. They work without JavaScript; with it, they are live."""

from __future__ import annotations

from importlib import resources
from typing import Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from postroom.compose import Email
from postroom.errors import PostroomError
from postroom.gallery.addresses import VIEWS, Address
from postroom.gallery.collection import Collection
from postroom.gallery.document import HEADERS, SANDBOX
from postroom.gallery.exhibit import addressed, exhibit, spoken
from postroom.gallery.host import Host, Note
from postroom.gallery.neighbours import neighbours
from postroom.gallery.walls import walls
from postroom.templates.portal import Portal

_STATIC = {"gallery.css": "text/css", "gallery.js": "text/javascript"}
_LONGEST_ADDRESS = 320


def build(host: Host) -> APIRouter:
    """The routes, to be included into the house's app."""
    pages = _Pages(host)
    router = APIRouter(include_in_schema=False, prefix=host.base)
    looking, sending = [Depends(host.looks())], [Depends(host.sends())]
    router.add_api_route("", pages.front, dependencies=looking)
    router.add_api_route("/changed", pages.changed, dependencies=looking)
    router.add_api_route("/{name}", pages.static, dependencies=looking)
    router.add_api_route("/{portal}/{template}", pages.template, dependencies=looking)
    router.add_api_route("/{portal}/{template}/document", pages.document, dependencies=looking)
    router.add_api_route("/{portal}/{template}/send", pages.send, methods=["POST"], dependencies=sending)
    return router


class _Pages:
    """What is answered. Rendering is done in threads: it takes a moment."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def front(self, request: Request) -> HTMLResponse:
        """Every portal, every template, every language."""
        return await run_in_threadpool(self._front, request)

    async def template(self, request: Request, portal: str, template: str) -> HTMLResponse:
        """One template, in one language, with one sample."""
        return await run_in_threadpool(self._template, request, portal, template)

    async def document(self, request: Request, portal: str, template: str) -> HTMLResponse:
        """What a frame shows of it, and nothing else."""
        try:
            content = await run_in_threadpool(self._document, request, portal, template)
        except PostroomError:
            content = _NOTHING
        return HTMLResponse(content, headers=HEADERS)

    async def changed(self, request: Request, since: str = "") -> JSONResponse:
        """How the files stand, as soon as they stand otherwise."""
        collection = self._host.collection(request)
        return JSONResponse({"state": await collection.changed(since, request.is_disconnected)})

    async def static(self, name: str) -> Response:
        """Our style sheet and our script."""
        if name not in _STATIC:
            raise HTTPException(404)
        content = resources.files("postroom.gallery").joinpath("static", name).read_bytes()
        return Response(content, media_type=_STATIC[name], headers={"Cache-Control": "no-cache"})

    async def send(self, request: Request, portal: str, template: str) -> Response:
        """Have the sample sent that is shown, and say what became of it."""
        form = await request.form()
        given = {name: value for name, value in form.items() if isinstance(value, str)}
        here = Address.read(self._base(request), portal, template, given)

        def compose(to: str) -> Email:
            _, known = self._found(request, portal, template)
            return addressed(known, template, language=here.language, sample=here.sample, to=to)

        async def composing(to: str) -> Email:
            return await run_in_threadpool(compose, to)

        to = self._host.posting(request).to or given.get("to", "").strip()[:_LONGEST_ADDRESS]
        try:
            word = await self._host.post(request, f"{portal}.{template}", composing, to)
        except PostroomError as error:
            note = Note(text=f"Not sent: {error}", tone="problem")
            return await run_in_threadpool(self._template, request, portal, template, here, note)
        address = str(here)
        return RedirectResponse(f"{address}{'&' if '?' in address else '?'}sent={word}", status_code=303)

    # In threads

    def _front(self, request: Request) -> HTMLResponse:
        collection = self._host.collection(request)
        try:
            portals = collection.portals()
        except PostroomError as error:
            return self._render(request, "front.html", walls=(), tally=None, problem=str(error))
        found, tally = walls(collection, portals)
        return self._render(request, "front.html", walls=found, tally=tally, problem="")

    def _template(
        self,
        request: Request,
        portal: str,
        template: str,
        here: Address | None = None,
        note: Note | None = None,
    ) -> HTMLResponse:
        try:
            collection, known = self._found(request, portal, template)
        except PostroomError:
            return self._front(request)
        here = here or Address.read(self._base(request), portal, template, request.query_params)
        language = spoken(known, here.language)
        findings = collection.findings(known, template, language)
        shown = exhibit(known, template, language=language, sample=here.sample, findings=findings)
        here = here.but(language=shown.look.language, sample=shown.look.sample)
        return self._render(
            request,
            "template.html",
            status=422 if note else 200,
            shown=shown,
            here=here,
            views=VIEWS,
            near=neighbours(here, shown, collection.portals()),
            sandbox=SANDBOX,
            posting=self._host.posting(request),
            note=note or self._host.note(request, request.query_params.get("sent", "")),
        )

    def _document(self, request: Request, portal: str, template: str) -> str:
        _, known = self._found(request, portal, template)
        asked = Address.read("", portal, template, request.query_params)
        shown = exhibit(known, template, language=asked.language, sample=asked.sample)
        return shown.document(asked.scheme) if shown.email else _NOTHING

    def _found(self, request: Request, portal: str, template: str) -> tuple[Collection, Portal]:
        collection = self._host.collection(request)
        known = collection.portals().get(portal)
        if known is None or template not in known.names:
            raise HTTPException(404)
        return collection, known

    def _render(self, request: Request, page: str, **context: Any) -> HTMLResponse:
        collection = self._host.collection(request)
        return self._host.render(
            request,
            f"gallery/{page}",
            gallery=self._base(request),
            watched=collection.state() if collection.live else "",
            **context,
        )

    def _base(self, request: Request) -> str:
        return str(request.scope.get("root_path", "")).rstrip("/") + self._host.base


_NOTHING = "<!doctype html><meta charset=utf-8><title>Nothing to show</title><p>It cannot be rendered.</p>"

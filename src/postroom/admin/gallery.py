"""The gallery of templates on the desk: who is signed in may look, operators may have a sample sent to themselves."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any, cast

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse
from starlette.exceptions import HTTPException

from postroom.accounts.names import printable
from postroom.accounts.values import Person, Role
from postroom.admin.places import actor_of, may_act, operations_of, root_of
from postroom.admin.rendering import render
from postroom.admin.security import needs
from postroom.admin.visit import address_of, keeper, known_visit
from postroom.errors import PostroomError
from postroom.gallery.collection import Collection
from postroom.gallery.host import Compose, Note, Posting
from postroom.gallery.routes import build
from postroom.outbox import AsyncOutbox
from postroom.outbox.submission import Submission, Wishes
from postroom.templates.found import find_portals

_ID = re.compile("[0-9a-f-]{36}")


def install(app: FastAPI, outbox: AsyncOutbox, *, dev: bool) -> None:
    """Give the app what the gallery shows: the portals of the settings.

    They are the application's own, if it is mounted there; only in development are their files read anew.
    """
    app.state.gallery = Collection(lambda: find_portals(outbox.settings.portals), live=dev)


class Desk:
    """The gallery's house is the admin app."""

    base = "/admin/templates"

    def collection(self, request: Request) -> Collection:
        return cast("Collection", request.app.state.gallery)

    def render(self, request: Request, template: str, **context: Any) -> HTMLResponse:
        person = _person(request)
        return render(request, template, person=person, section="templates", **context)

    def posting(self, request: Request) -> Posting:
        """To their own address, and to nobody else's."""
        person = _person(request)
        if not may_act(person):
            return Posting(refused="Operators can have this sent to themselves; you may look.")
        if "@" not in person.name:
            return Posting(refused=f"{person.name} has no address that this could be sent to; sign in to have one.")
        return Posting(to=person.name)

    async def post(self, request: Request, kind: str, compose: Compose, to: str) -> str:
        """Through the outbox, on record like every act; a worker sends it."""
        person = _person(request)
        try:
            if refused := self.posting(request).refused:
                raise PostroomError(refused)
            submission = Submission(await compose(to), None, _wishes(person))
        except (PostroomError, HTTPException) as error:
            refused = str(error) if isinstance(error, PostroomError) else "there is no such template"
            told = {"template": printable(kind)[:100], "refused": printable(refused)[:300]}
            await keeper(request).note(person.name, "enqueue", address=address_of(request), **told)
            raise
        receipt = await operations_of(request).enqueue(submission, by=actor_of(request, person))
        return str(receipt.id)

    def note(self, request: Request, word: str) -> Note | None:
        if not _ID.fullmatch(word):
            return None
        link = f"{root_of(request)}/admin/email-queue/{word}"
        return Note(text="On its way to your address.", link=link, label="Follow it")

    def looks(self) -> Callable[..., Awaitable[Any]]:
        return needs(Role.VIEWER)

    def sends(self) -> Callable[..., Awaitable[Any]]:
        return needs(Role.OPERATOR)


def _person(request: Request) -> Person:
    """Who asks; that somebody does was seen to by the route."""
    visit = known_visit(request)
    assert visit is not None
    assert visit.person is not None
    return visit.person


def _wishes(person: Person) -> Wishes:
    """Into a workspace that the person may see."""
    return Wishes() if not person.workspaces else Wishes(workspace=min(person.workspaces))


router = build(Desk())

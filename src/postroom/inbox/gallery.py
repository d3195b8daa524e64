"""The gallery of templates in the dev inbox: a sample is put into the inbox as if it had come by mail."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from starlette.concurrency import run_in_threadpool

from postroom.compose import Email, Letter
from postroom.gallery.collection import Collection
from postroom.gallery.host import Compose, Note, Posting
from postroom.gallery.routes import build
from postroom.inbox.api import LARGEST_ID, the_inbox
from postroom.inbox.rendering import render
from postroom.inbox.server import DevInbox
from postroom.inbox.shelf import Wanted
from postroom.outbox.submission import NOBODY
from postroom.store.ids import new_id
from postroom.testing.record import ReceivedMessage

YOU = "you@example.org"


async def everybody() -> None:
    """Whoever gets here at all: the guard around the app has seen to it."""


class Inbox:
    """The gallery's house is the dev inbox."""

    base = "/templates"

    def collection(self, request: Request) -> Collection:
        return the_inbox(request).gallery

    def render(self, request: Request, template: str, **context: Any) -> HTMLResponse:
        return render(request, template, csrf="", section="templates", **context)

    def posting(self, request: Request) -> Posting:
        return Posting(to=YOU, label="Put it into the inbox")

    async def post(self, request: Request, kind: str, compose: Compose, to: str) -> str:
        return await run_in_threadpool(_keep, the_inbox(request), await compose(to))

    def note(self, request: Request, word: str) -> Note | None:
        if not word.isascii() or not word.isdecimal() or len(word) > len(str(LARGEST_ID)):
            return None
        return Note(text="It is in the inbox.", link=f"/messages/{word}", label="Open it")

    def looks(self) -> Callable[..., Awaitable[Any]]:
        return everybody

    sends = looks


def _keep(inbox: DevInbox, email: Email) -> str:
    """On the shelf, whatever chaos is on; its number there."""
    letter = Letter.compose(email, id=new_id(), date=datetime.now(UTC), default_sender=NOBODY)
    message = ReceivedMessage(
        sender=letter.sender_address,
        recipients=letter.recipients,
        data=letter.as_bytes(),
        message_id=letter.message_id,
        accepted=True,
        connection=0,
        at=time.time(),
    )
    inbox.shelf.keep(message)
    [kept, *_] = inbox.shelf.list(Wanted(words=letter.message_id))
    return str(kept.id)


router = build(Inbox())

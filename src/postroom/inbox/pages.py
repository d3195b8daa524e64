"""The pages. All of them work without JavaScript; with it, new mail appears by itself."""

from __future__ import annotations

import re
from threading import BoundedSemaphore
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse, Response

from postroom.admin.contents import Preview, preview_of
from postroom.admin.headers import content_policy
from postroom.admin.viewer import remote_image_count
from postroom.inbox.api import LARGEST_ID, Inbox, Place
from postroom.inbox.chaos import COUNTED, Trouble
from postroom.inbox.problems import NoSuchMessage
from postroom.inbox.received import ReadMessage
from postroom.inbox.rendering import render
from postroom.inbox.server import DevInbox
from postroom.inbox.shelf import KeptMessage, Wanted

router = APIRouter(include_in_schema=False)

SHOWN_SOURCE = 500_000
"""Characters of the source that a page shows; the rest is in the download."""
_LOOKING = BoundedSemaphore(2)
"""How many previews are made at once: each may take a second."""
_FILE = {"Content-Security-Policy": "sandbox; default-src 'none'", "X-Content-Type-Options": "nosniff"}


@router.get("/")
def show_list(
    request: Request, inbox: Inbox, q: Annotated[str, Query(max_length=500)] = "", before: Place = None
) -> Response:
    """The mail, newest first."""
    wanted = Wanted(words=q, before=before)
    found = inbox.shelf.list(wanted)
    return render(
        request,
        "list.html",
        messages=found,
        total=inbox.shelf.count(wanted),
        words=q,
        before=before,
        next=found[-1].id if len(found) == wanted.limit else None,
        live=before is None,
    )


@router.get("/messages/{id}")
def show_message(request: Request, inbox: Inbox, id: int, view: str = "", images: bool = False) -> Response:
    """One message, one view of it at a time."""
    message, letter = _opened(inbox, id)
    views = _views(letter)
    view = view if view in views else views[0]
    preview = None
    if view == "html" and letter.html is not None:
        with _LOOKING:
            preview = preview_of(letter.html, remote_images=images, inline=letter.pictures)
    return render(
        request,
        "message.html",
        headers=_policy(preview, images=images),
        message=message,
        letter=letter,
        views=views,
        view=view,
        images=images,
        remote_images=remote_image_count(letter.html) if preview is not None and letter.html else 0,
        preview=preview,
        source=_source(inbox, id)[:SHOWN_SOURCE].decode("utf-8", "replace") if view == "source" else "",
    )


@router.get("/messages/{id}/raw")
def download_message(inbox: Inbox, id: int) -> Response:
    """The message as it came, to be saved and never shown."""
    return _file(_source(inbox, id), f"message-{id}.eml", "message/rfc822")


@router.get("/messages/{id}/attachments/{number}")
def download_attachment(inbox: Inbox, id: int, number: int) -> Response:
    """A file of the message, to be saved and never shown, whatever it says it is."""
    _, letter = _opened(inbox, id)
    if not 1 <= number <= len(letter.enclosures):
        raise NoSuchMessage("attachment")
    enclosure = letter.enclosures[number - 1]
    return _file(enclosure.content, enclosure.name, "application/octet-stream")


@router.post("/messages/{id}/delete")
def delete_message(inbox: Inbox, id: int) -> Response:
    """Delete one message; it is no matter if it is gone already."""
    if 0 <= id <= LARGEST_ID:
        inbox.shelf.delete(id)
    return _back("/")


@router.post("/delete-all")
def delete_all(inbox: Inbox) -> Response:
    """Empty the inbox."""
    inbox.shelf.delete_all()
    return _back("/")


@router.post("/chaos")
def switch(
    inbox: Inbox,
    trouble: Annotated[Trouble, Form()],
    to: Annotated[str, Form(pattern="^(on|once|off)$")],
    back: Annotated[str, Form(max_length=1000)] = "/",
) -> Response:
    """Switch a trouble on, on for the next message, or off."""
    if to == "off":
        inbox.switch_off(trouble)
    else:
        inbox.switch_on(trouble, times=1 if to == "once" and trouble in COUNTED else None)
    return _back(back)


def _opened(inbox: DevInbox, id: int) -> tuple[KeptMessage, ReadMessage]:
    message = inbox.shelf.get(id) if 0 <= id <= LARGEST_ID else None
    if message is None:
        raise NoSuchMessage("message")
    return message, inbox.letter(id)


def _source(inbox: DevInbox, id: int) -> bytes:
    source = inbox.shelf.source(id) if 0 <= id <= LARGEST_ID else None
    if source is None:
        raise NoSuchMessage("message")
    return source


def _views(letter: ReadMessage) -> list[str]:
    """Those that this message has something for; the first is shown unless another is asked for."""
    there = {
        "html": letter.html is not None,
        "text": letter.text is not None,
        "invite": letter.invitation is not None,
        "attachments": bool(letter.enclosures),
    }
    return [*(view for view, has in there.items() if has), "headers", "source"]


def _policy(preview: Preview | None, *, images: bool) -> dict[str, str]:
    """The document in the frame obeys the page's policy too: there, its own styles and pictures are let in."""
    if preview is None:
        return {}
    return {"Content-Security-Policy": content_policy(inline_styles=True, remote_images=images)}


def _file(content: bytes, name: str, media_type: str) -> Response:
    plain = re.sub(r'[^ -~]|["\\%]', "_", name)
    disposition = f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
    return Response(content, media_type=media_type, headers={**_FILE, "Content-Disposition": disposition})


def _back(path: str) -> Response:
    """To a page of ours, and to no other."""
    ours = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return RedirectResponse(path if ours else "/", status_code=303)

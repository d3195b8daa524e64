"""What differs between the places that show the gallery: its look, who may do what, and how a sample is sent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

from fastapi import Request
from fastapi.responses import HTMLResponse

from postroom.compose import Email
from postroom.gallery.collection import Collection


@dataclass(frozen=True, slots=True, kw_only=True)
class Posting:
    """Whether a sample can be sent from here, and to whom."""

    to: str = ""
    """The one address that it goes to; empty where a form asks."""
    suggested: str = ""
    """What the form holds at first."""
    label: str = "Send me this"
    refused: str = ""
    """Why nothing can be sent from here, by whoever looks; empty where it can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What became of it, in words, and where to look."""

    text: str
    link: str = ""
    label: str = ""
    tone: str = "done"


class Host(Protocol):
    """A house that shows the gallery."""

    base: str
    """Where, within its app: `/templates`."""

    def collection(self, request: Request) -> Collection:
        """What it shows."""

    def render(self, request: Request, template: str, **context: Any) -> HTMLResponse:
        """A page in the house's look."""

    def posting(self, request: Request) -> Posting:
        """Whether whoever asks can have a sample sent, and to whom."""

    async def post(self, request: Request, kind: str, compose: Compose, to: str) -> str:
        """Send it; a word for the address of the next page, by which `note` tells what became of it.

        `compose` makes the email for somebody. A `PostroomError` says why it was not sent.
        """

    def note(self, request: Request, word: str) -> Note | None:
        """What became of what was sent; None for a word that is none of ours."""

    def looks(self) -> Callable[..., Awaitable[Any]]:
        """A dependency that lets those in who may look."""

    def sends(self) -> Callable[..., Awaitable[Any]]:
        """A dependency that lets those in who may send."""


Compose = Callable[[str], Awaitable[Email]]
"""Makes an email for an address. It takes a moment, beside the event loop."""

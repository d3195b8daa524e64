"""How much may be sent to us: a request is read before anybody knows who sent it."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from postroom.compose import Limits

AT_THE_DOOR = 64 * 1024
"""Bytes of a name, a password, a code."""

AT_LEAST = 1024 * 1024
"""Bytes that may always be sent: an outbox for small emails tells in its own words that one is too large."""


def largest_body(limits: Limits) -> int:
    """Room for an email as large as the outbox takes, written as JSON."""
    return max(limits.bytes * 3 // 2, AT_LEAST)


class BodyLimit:
    """Refuses, with 413, what is longer than allowed, as soon as that is known."""

    def __init__(self, app: ASGIApp, *, most: int) -> None:
        self._app = app
        self._most = most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        most = AT_THE_DOOR if "/admin/sign-" in scope["path"] else self._most
        read = 0

        async def receive_so_much() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > most:
                raise HTTPException(413)
            return message

        await self._app(scope, receive_so_much, send)

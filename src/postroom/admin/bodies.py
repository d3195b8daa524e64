"""How much may be sent to us, how slowly, and by whom: who sends is known before a body is read.

A framework reads and parses a body first and asks its dependencies afterwards, so that whoever is to be refused has
already cost memory and time. Here the order is turned around, outside the framework, so that no route can forget it:

    nobody          at the sign-in and where people unsubscribe, 64 kB; anywhere else the body is not read at all, and
                    the route, which sees an empty one, refuses as it refuses everybody who is not signed in
    somebody        as much as the largest email of this outbox takes, as long as there is room for it beside what
                    others are sending

and everybody has to keep a pace, for a body that never ends holds a place that others need. All this works in an app
that is mounted into another one, too; what is about connections is in `serving`.
"""

from __future__ import annotations

import asyncio
from threading import Lock

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from postroom.admin.visit import visit_of
from postroom.compose import Limits
from postroom.compose.unsubscribing import PLACE
from postroom.errors import PostroomError

AT_THE_DOOR = 64 * 1024
"""Bytes of a name, a password, a code."""

AT_LEAST = 1024 * 1024
"""Bytes that may always be sent: an outbox for small emails tells in its own words that one is too large."""

AT_ONCE = 4
"""How many of the largest bodies are held at the same time; many more small ones."""

GRACE = 10.0
"""Seconds that every body may take."""

SLOWEST = 16 * 1024
"""Bytes a second that a body must come at, after the grace."""

NO_BODY: Message = {"type": "http.request", "body": b"", "more_body": False}


def largest_body(limits: Limits) -> int:
    """Room for an email as large as the outbox takes, written as JSON."""
    return max(limits.bytes * 3 // 2, AT_LEAST)


def due(began: float, read: int) -> float:
    """When the next piece of a body must be here, of which so much was read."""
    return began + GRACE + read / SLOWEST


class Room:
    """What may be held at the same time, in bytes. Several event loops may share it."""

    def __init__(self, size: int) -> None:
        self._free = size
        self._lock = Lock()

    def take(self, size: int) -> bool:
        with self._lock:
            if size > self._free:
                return False
            self._free -= size
            return True

    def give_back(self, size: int) -> None:
        with self._lock:
            self._free += size


class BodyLimit:
    """Lets bodies in: 413 for what is too long, 408 for what is too slow, 503 when there is no room just now."""

    def __init__(self, app: ASGIApp, *, most: int) -> None:
        self._app = app
        self._most = most
        self._room = Room(most * AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = _Body(scope, receive, most=self._most, room=self._room)
        try:
            await self._app(scope, body.receive, send)
        finally:
            body.forget()


class _Body:
    """The body of one request, as far as it may be read."""

    def __init__(self, scope: Scope, receive: Receive, *, most: int, room: Room) -> None:
        self._scope = scope
        self._receive = receive
        self._most = most
        self._room = room
        self._read = 0
        self._began: float | None = None
        self._ended = False

    async def receive(self) -> Message:
        """The next piece; nothing of a body whose sender is nobody."""
        if self._began is None:
            self._began = asyncio.get_running_loop().time()
            if not await self._is_welcome():
                self._ended = True
                return NO_BODY
        message = await (self._until_gone() if self._ended else self._in_time())
        self._count(message)
        return message

    def forget(self) -> None:
        """The request is over, and with it what it held."""
        self._room.give_back(self._read)
        self._read = 0

    async def _is_welcome(self) -> bool:
        if "/admin/sign-" in self._scope["path"] or _is_a_link(self._scope):
            self._most = AT_THE_DOOR
        elif not await self._is_somebody():
            return False
        length = Headers(scope=self._scope).get("content-length", "0")
        if len(length) > 18 or (length.isdecimal() and int(length) > self._most):
            raise HTTPException(413)
        return True

    async def _is_somebody(self) -> bool:
        try:
            return (await visit_of(Request(self._scope))).person is not None
        except PostroomError:
            return False  # whoever has to know is told the same: a visit that failed is remembered

    async def _in_time(self) -> Message:
        assert self._began is not None
        try:
            async with asyncio.timeout_at(due(self._began, self._read)):
                return await self._receive()
        except TimeoutError:
            raise HTTPException(408) from None

    async def _until_gone(self) -> Message:
        """Nothing more comes but the end of the connection; what is still sent is thrown away."""
        while (message := await self._receive())["type"] != "http.disconnect":
            pass
        return message

    def _count(self, message: Message) -> None:
        size = len(message.get("body", b""))
        if self._read + size > self._most:
            raise HTTPException(413)
        if not self._room.take(size):
            raise HTTPException(503, headers={"Retry-After": "5"})
        self._read += size
        self._ended = not message.get("more_body", False)


def _is_a_link(scope: Scope) -> bool:
    """Whether somebody unsubscribes, who is nobody here and need not be."""
    path = str(scope["path"]).removeprefix(str(scope.get("root_path", "")).rstrip("/"))
    return path.startswith(PLACE)

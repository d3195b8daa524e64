"""What the API is sent: a query that says each thing once, and a JSON body.

Of a name that is there twice one would count, and nobody would know which.

Bodies are parsed beside the event loop, and only if they hold no more values than a request can mean. What costs in a
JSON text is not its length but the number of its values: 36 MB of `[],` are twelve million lists, which take a gigabyte
and hold the interpreter for as long as it takes to make them, and twelve million complaints after that. An email of the
same length is a few hundred values, one of them long.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from postroom.accounts.names import printable
from postroom.admin.errors import ApiError
from postroom.admin.workshop import workshop_of
from postroom.compose import Limits

SEVERAL = frozenset(("of",))
"""What may be given several times in a query."""

SMALL = 16 * 1024
"""Bytes that are parsed on the spot."""

BESIDES = 5_000
"""Values of a request besides its recipients and headers: tags, attachments, the ids of a bulk act."""


def most_values(limits: Limits) -> int:
    """How many values a request to this outbox may hold."""
    return 3 * limits.recipients + 2 * limits.headers + BESIDES


def values_in(text: bytes, *, most: int) -> int:
    """How many values a JSON text holds at most, as far as it was counted: no further than a little beyond `most`.

    Every value but the first stands behind a comma, a colon or an opening bracket, outside of strings.
    """
    count, position = 1, 0
    while count <= most:
        quote = text.find(b'"', position)
        end = quote if quote >= 0 else len(text)
        count += sum(text.count(mark, position, end) for mark in (b",", b":", b"[", b"{"))
        if quote < 0:
            break
        position = _end_of_string(text, quote + 1)
    return count


def _end_of_string(text: bytes, position: int) -> int:
    while (quote := text.find(b'"', position)) >= 0:
        before = quote
        while before > position and text[before - 1] == 0x5C:
            before -= 1
        position = quote + 1
        if (quote - before) % 2 == 0:
            return position
    return len(text)


def parse(text: bytes, *, most: int) -> Any:
    """The values of a JSON text; 413 for one with too many of them."""
    if values_in(text, most=most) > most:
        raise HTTPException(413)
    return json.loads(text)


def _insist_on_once(request: Request) -> None:
    for name, times in Counter(name for name, _ in request.query_params.multi_items()).items():
        if times > 1 and name not in SEVERAL:
            raise ApiError(
                status=422,
                code="invalid_request",
                message=f"query.{printable(name)[:50]}: is there {times} times",
                remedy="give it once",
            )


class JsonRequest(Request):
    """A request whose JSON is parsed beside the event loop."""

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            self._json = await self._parsed(await self.body())
        return self._json

    async def _parsed(self, text: bytes) -> Any:
        most = most_values(self.app.state.operations.outbox.rules.limits)
        if len(text) <= SMALL:
            return parse(text, most=most)
        return await workshop_of(self).do(parse, text, most=most)


class JsonRoute(APIRoute):
    """A route that takes JSON."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        answer = super().get_route_handler()

        async def handle(request: Request) -> Response:
            _insist_on_once(request)
            return await answer(JsonRequest(request.scope, request.receive))

        return handle

"""Answers that cost no more than what is new in them: 304 for what the asker has already, and gzip.

Compression tells something about secrets that stand beside words of whoever asks (see `forgery`). So nothing is
compressed that another site asks for: browsers say so (`Sec-Fetch-Site`). Programs, and browsers that do not say, get
it compressed; the form token, the one secret that is on every page, is another text each time.
"""

from __future__ import annotations

import asyncio
import gzip
from hashlib import sha256

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SHORTEST = 1_000
"""Bytes from which on compressing is worth it."""

LONG = 64 * 1024
"""Bytes from which on it is done in a thread."""

LARGEST = 16 * 1024 * 1024
"""Bytes beyond which an answer is sent as it is."""

LEVEL = 5
TYPES = ("text/", "application/json", "image/svg+xml")
_OURS = (None, "same-origin", "none")


def tag_of(*contents: str | bytes) -> str:
    """What names this content, for `ETag`; weak, for it is the same compressed or not."""
    seen = sha256()
    for each in contents:
        seen.update(each.encode() if isinstance(each, str) else each)
    return f'W/"{seen.hexdigest()[:32]}"'


class Economy:
    """Around an app."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        await self._app(scope, receive, _Answer(Headers(scope=scope), send).send)


class _Answer:
    """Held back until it is whole, if it is one to be economical with."""

    def __init__(self, asked: Headers, send: Send) -> None:
        self._asked = asked
        self._send = send
        self._start: Message | None = None
        self._body = b""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_worth_it(message):
            self._start = message
        elif self._start is None or message["type"] != "http.response.body":
            await self._send(message)
        else:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._finish(self._start)

    async def _finish(self, start: Message) -> None:
        headers = MutableHeaders(scope=start)
        headers.add_vary_header("Accept-Encoding")
        if "etag" not in headers:
            headers["ETag"] = tag_of(self._body)
        if headers["etag"] in self._asked.get("if-none-match", ""):
            start["status"], self._body = 304, b""
            del headers["content-length"]
            del headers["content-type"]
        elif len(self._body) >= SHORTEST and self._may_compress():
            self._body = await _compressed(self._body)
            headers["Content-Encoding"] = "gzip"
            headers["Content-Length"] = str(len(self._body))
        await self._send(start)
        await self._send({"type": "http.response.body", "body": self._body})

    def _may_compress(self) -> bool:
        accepted = self._asked.get("accept-encoding", "").replace(" ", "").lower().split(",")
        return "gzip" in accepted and self._asked.get("sec-fetch-site") in _OURS


def _is_worth_it(start: Message) -> bool:
    headers = Headers(raw=start["headers"])
    length = headers.get("content-length", "")
    return (
        start["status"] == 200
        and headers.get("content-type", "").startswith(TYPES)
        and "content-encoding" not in headers
        and length.isdecimal()
        and int(length) <= LARGEST
    )


async def _compressed(body: bytes) -> bytes:
    if len(body) < LONG:
        return gzip.compress(body, LEVEL, mtime=0)
    return await asyncio.to_thread(gzip.compress, body, LEVEL, mtime=0)

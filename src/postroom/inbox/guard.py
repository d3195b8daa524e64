"""What is asked of every request before it is answered.

The page listens on this machine only, and yet every page in the developer's browser can send it requests. Hence:

- the `Host` must be one of ours: a name that some page has pointed at 127.0.0.1 (DNS rebinding) reads nothing;
- what changes something must come from our own page, by `Origin` and `Sec-Fetch-Site`. A program sends neither;
- bodies are small and say how long they are.

Answers carry the headers of the admin pages (`postroom.admin.headers`): nothing of them may be framed or sniffed, or
read by other origins, and they load nothing from elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

OWN_NAMES = ("127.0.0.1", "localhost", "[::1]")
LARGEST_BODY = 16_384
_READING = ("GET", "HEAD", "OPTIONS")


class Guard:
    """Middleware around the whole application."""

    def __init__(self, app: ASGIApp, *, allowed_hosts: Sequence[str], house: str = "inbox") -> None:
        """`house` is what it is called that is guarded."""
        self._app = app
        self._house = house
        self._hosts = {name.lower() for name in (*OWN_NAMES, *allowed_hosts)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        refusal = self.refusal(scope["method"], Headers(scope=scope))
        await (refusal or self._app)(scope, receive, send)

    def refusal(self, method: str, headers: Headers) -> Response | None:
        """Why this request is not answered, if so."""
        host = headers.get("host", "").lower()
        if _name(host) not in self._hosts:
            return PlainTextResponse(
                f"This {self._house} does not go by that name. Ask for it as 127.0.0.1 or localhost, "
                "or start it with --allow-host.\n",
                status_code=421,
            )
        if method in _READING:
            return None
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none") or not _is_ours(headers, host):
            return PlainTextResponse(f"Only the {self._house}'s own page may do this.\n", status_code=403)
        if "transfer-encoding" in headers:
            return PlainTextResponse("Say how long the body is.\n", status_code=411)
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > LARGEST_BODY:
            return PlainTextResponse("The body is too large.\n", status_code=413)
        return None


def _is_ours(headers: Headers, host: str) -> bool:
    origin = headers.get("origin")
    return origin is None or origin.lower() in (f"http://{host}", f"https://{host}")


def _name(host: str) -> str:
    """Without the port."""
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]

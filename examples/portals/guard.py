"""What is asked of every request, and what every answer tells the browser."""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_FORM = 20_000
HEADERS = {
    "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    # Tokens stand in addresses, and go to no other site. Not `no-referrer`, with which forms are from nowhere.
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """Middleware: forms are taken from our own pages only, and nothing is framed, kept or loaded from elsewhere."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = _refusal(scope["method"], Headers(scope=scope))
        await (refusal or self._app)(scope, receive, send_with_headers)


def _refusal(method: str, headers: Headers) -> PlainTextResponse | None:
    if method in ("GET", "HEAD"):
        return None
    origin = headers.get("origin")
    if origin is not None and origin.partition("://")[2] != headers.get("host"):
        return PlainTextResponse("This form did not come from our own page.\n", status_code=403)
    length = headers.get("content-length", "")
    if not length.isdecimal() or int(length) > LARGEST_FORM:
        return PlainTextResponse("The form is too large, or does not say how large it is.\n", status_code=413)
    return None

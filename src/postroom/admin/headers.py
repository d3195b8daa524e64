"""What every answer tells the browser: nothing from other hosts, no frames around us, no guessing, no keeping."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send


def content_policy(*, inline_styles: bool = False, remote_images: bool = False) -> str:
    """The content security policy of a page.

    A document in `srcdoc` inherits the policy of the page around it: a page that shows an email needs the email's
    inline styles, and its pictures once somebody asked for them. Scripts are ours alone, on every page.
    """
    return "; ".join(
        (
            "default-src 'self'",
            "script-src 'self'",
            "style-src 'self' 'unsafe-inline'" if inline_styles else "style-src 'self'",
            "img-src 'self' data: https:" if remote_images else "img-src 'self' data:",
            "object-src 'none'",
            "base-uri 'none'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        )
    )


HEADERS = {
    "content-security-policy": content_policy(),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # Not `no-referrer`: browsers would then send `Origin: null` with our own forms.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
"""A route may say otherwise; what it says stays."""


class SecurityHeaders:
    """Adds what a route did not say itself, to every answer, also to errors."""

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

        await self._app(scope, receive, send_with_headers)

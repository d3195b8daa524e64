"""The door behind the links by which people unsubscribe: `/u/{token}`.

Whoever comes here has no account and brings no cookie: a mailbox that presses the link for its owner (RFC 8058), or
the owner with a browser. Nothing is asked for but the token, for it is in the hands of whoever got the email. So there
is nothing that another site could have a browser do here that it could not do by itself, and no form token.

    GET, HEAD   the page with a button. Nothing is read or written, for scanners follow links by the thousand
    POST        records it, and says so; as often as one likes
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from postroom.compose.unsubscribing import PLACE
from postroom.errors import ConfigurationError
from postroom.logs import logger
from postroom.outbox import AsyncOutbox
from postroom.returns.unsubscribing import Answer, Wish, resubscribed, shown, unsubscribed, wish_in
from postroom.returns.unsubscribing.page import CONTENT_POLICY
from postroom.returns.unsubscribing.words import chosen_language
from postroom.sealing import Ticket, unsealed

LONGEST_BODY = 8 * 1024
"""Bytes; what is sent here are two words."""

PATIENCE = 10.0
"""Seconds for a body to arrive, and for a database to answer."""

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": CONTENT_POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "X-Robots-Tag": "noindex",
}


def unsubscribe_route(outboxes: Mapping[str, AsyncOutbox]) -> Route:
    """The route of one outbox, or of those of several regions by their names. They stay the caller's."""
    return Route(PLACE + "{token}", UnsubscribeDoor(outboxes), methods=["GET", "POST"], name="unsubscribe")


def unsubscribe_app(outboxes: Mapping[str, AsyncOutbox]) -> ASGIApp:
    """That route and nothing else."""
    app = Starlette(routes=[unsubscribe_route(outboxes)])
    app.router.redirect_slashes = False  # it would lead to whatever host the request names
    return app


class UnsubscribeDoor:
    """An ASGI app for requests that have a token in their path."""

    def __init__(self, outboxes: Mapping[str, AsyncOutbox]) -> None:
        self._outboxes = outboxes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            response = await self._answered(request)
        except ClientDisconnect:
            return
        if request.method == "HEAD":
            response.body = b""
        await response(scope, receive, send)

    async def _answered(self, request: Request) -> Response:
        try:
            found = self._found(request.path_params.get("token", ""))
        except ConfigurationError as error:
            logger.error("links to unsubscribe cannot be opened", error=str(error))
            return _page(request, Answer.AWAY)
        if found is None:
            return _page(request, Answer.INVALID)
        outbox, ticket = found
        if request.method != "POST":
            return _page(request, Answer.ASK, ticket)
        form = await _form(request)
        if form is None:
            return _page(request, Answer.TOO_LARGE, ticket)
        wish = wish_in(form)
        return _page(request, Answer.UNCLEAR if wish is None else await _done(outbox, ticket, wish), ticket, wish)

    def _found(self, token: str) -> tuple[AsyncOutbox, Ticket] | None:
        """What a token is about, and whose database has to hear of it; one of another region is nobody's here."""
        for name, outbox in self._outboxes.items():
            ticket = unsealed(token, outbox.rules.links.keyring)
            if ticket is not None and (ticket.region == name or (not ticket.region and len(self._outboxes) == 1)):
                return outbox, ticket
        return None


async def _done(outbox: AsyncOutbox, ticket: Ticket, wish: Wish) -> Answer:
    """Do what is wished for; that it is done is said only when it has committed."""
    try:
        async with asyncio.timeout(PATIENCE):
            if wish is Wish.UNDO:
                await outbox.database.run(resubscribed(ticket))
                return Answer.UNDONE
            entry = await outbox.database.run(unsubscribed(ticket, wish))
    except Exception as error:  # noqa: BLE001  whatever it is, the person must not believe that it is recorded
        logger.error("an unsubscription could not be recorded", email_id=ticket.email_id, error=type(error).__name__)
        return Answer.AWAY
    return Answer.DONE_KIND if entry.kind else Answer.DONE


def _page(request: Request, answer: Answer, ticket: Ticket | None = None, wish: Wish | None = None) -> Response:
    language = chosen_language(ticket.language if ticket else "", request.headers.get("accept-language", ""))
    headers = HEADERS | {"Content-Language": language, "Vary": "Accept-Language"}
    if answer is Answer.AWAY:
        headers["Retry-After"] = "60"
    return HTMLResponse(shown(answer, language, ticket=ticket, wish=wish), status_code=answer.status, headers=headers)


async def _form(request: Request) -> dict[str, str] | None:
    """The texts of a form, whichever of the two ways it was written in; None for a body that is too long or slow."""
    body = await _body(request)
    if body is None:
        return None
    if not request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        return dict(parse_qsl(body.decode("utf-8", "replace"), max_num_fields=None, keep_blank_values=True))

    async def again() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    try:
        async with Request(request.scope, again).form(max_files=0, max_fields=20) as form:
            return {name: value for name, value in form.items() if isinstance(value, str)}
    except (HTTPException, MultiPartException, ValueError):
        return {}


async def _body(request: Request) -> bytes | None:
    body = b""
    try:
        async with asyncio.timeout(PATIENCE):
            async for piece in request.stream():
                body += piece
                if len(body) > LONGEST_BODY:
                    return None
    except TimeoutError:
        return None
    return body

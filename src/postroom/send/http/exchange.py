"""One request and its answer, over httpcore2, told as values whatever the network does.

The dot of a request is the last piece of its body. It is held back until `before_dot` has allowed it, and from the
moment it is handed over the request may have arrived: httpcore2 asks our stream for one piece after another and writes
each before it asks for the next, so what was not asked for cannot have left. Its trace tells the rest: which step has
begun, and so which limit holds and where it was that something went wrong.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import httpcore2

from postroom.send.contract import BeforeDot, Fault, FaultKind, Phase, may_leave
from postroom.send.http.call import Answer, Call
from postroom.send.http.limits import Limits
from postroom.send.http.pinned import Pinned

MOST_READ = 64 * 1024
"""Octets of an answer's body that are read."""

_BLOCK = 64 * 1024
_BEGINS = {
    "connection.start_tls.started": Phase.TLS,
    "http11.send_request_headers.started": Phase.BODY,
    "http11.receive_response_headers.started": Phase.ANSWER,
}
_NETWORK = (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException, OSError)

Find = Callable[[str, int], Awaitable[list[str]]]
"""The addresses to connect to; raises `OSError` where there are none, `Forbidden` where they may not be used."""


class Forbidden(Exception):
    """Our own settings say no; the text says what to do."""


class _Abandoned(Exception):
    """`before_dot` said no."""


@dataclass(slots=True, kw_only=True)
class Exchange:
    """What came of a request."""

    answer: Answer | None
    """There as soon as a status was heard, whatever became of the body behind it."""
    fault: Fault | None
    """Why there is no answer."""
    dot_left: bool
    """The whole request may have left."""
    connected: bool
    milliseconds: dict[str, float]


async def exchange(
    call: Call, *, find: Find, trust: ssl.SSLContext | None, limits: Limits, before_dot: BeforeDot | None = None
) -> Exchange:
    """Make one request on a connection of its own. Raises only on a bug of ours or on cancellation."""
    return await _Course(call, find=find, trust=trust, limits=limits, before_dot=before_dot).run()


class _Course:
    """A request on its way: how far it has come, and how long that took."""

    def __init__(
        self, call: Call, *, find: Find, trust: ssl.SSLContext | None, limits: Limits, before_dot: BeforeDot | None
    ) -> None:
        assert call.body or before_dot is None, "a request without a body leaves with its headers"
        self._call = call
        self._find = find
        self._trust = trust
        self._limits = limits
        self._before_dot = before_dot
        self._loop = asyncio.get_running_loop()
        self._began = self._since = self._loop.time()
        self._phase = Phase.CONNECT
        self._dot_left = False
        self._status: httpcore2.Response | None = None
        self._body = bytearray()
        self._milliseconds: dict[str, float] = {}

    async def run(self) -> Exchange:
        fault = None
        try:
            async with asyncio.timeout(None) as self._timer:
                self._enter(Phase.CONNECT)
                await self._converse()
        except TimeoutError:
            limit = self._limit(self._phase)
            fault = self._fault(FaultKind.TIMEOUT, f"the other end took longer than {limit:g} s")
        except Forbidden as error:
            fault = self._fault(FaultKind.FORBIDDEN, str(error))
        except _Abandoned:
            fault = self._fault(FaultKind.ABANDONED, "the right to send was lost before the end; nothing was sent")
        except _NETWORK as error:
            fault = self._fault(self._kind(error), _words(error))
        self._note_time()
        return Exchange(
            answer=self._answer(),
            fault=fault if self._status is None else None,
            dot_left=self._dot_left,
            connected=self._phase is not Phase.CONNECT,
            milliseconds=self._milliseconds,
        )

    async def _converse(self) -> None:
        call = self._call
        addresses = await self._find(call.host, call.port)
        network = Pinned(addresses, seconds=self._limits.connect)
        url = httpcore2.URL(
            scheme="https" if call.secure else "http", host=call.host, port=call.port, target=call.target
        )
        connection = httpcore2.AsyncHTTPConnection(url.origin, ssl_context=self._trust, network_backend=network)
        try:
            self._status = await connection.handle_async_request(self._request(url))
            await self._read(self._status)
        finally:
            await network.aclose()

    def _request(self, url: httpcore2.URL) -> httpcore2.Request:
        own = [("Host", self._call.authority), ("Connection", "close"), ("User-Agent", "Postroom")]
        if self._call.body:
            own.append(("Content-Length", str(len(self._call.body))))
        return httpcore2.Request(
            self._call.method,
            url,
            headers=[*own, *self._call.headers],
            content=self._pieces(),
            extensions={"trace": self._heed},
        )

    async def _pieces(self) -> AsyncIterator[bytes]:
        """The body, its last piece only when that may leave."""
        body = self._call.body
        end = (len(body) - 1) // _BLOCK * _BLOCK if body else 0
        for start in range(0, end, _BLOCK):
            yield body[start : start + _BLOCK]
        if not await may_leave(self._before_dot):
            raise _Abandoned
        self._dot_left = True
        if body:
            yield body[end:]

    async def _read(self, response: httpcore2.Response) -> None:
        """The beginning of the body. That it breaks off is no matter: the status was heard."""
        async with aclosing(response.aiter_stream()) as pieces:
            async for piece in pieces:
                self._body += piece[: MOST_READ - len(self._body)]
                if len(self._body) >= MOST_READ:
                    return

    async def _heed(self, event: str, details: dict[str, Any]) -> None:
        if (phase := _BEGINS.get(event)) is not None:
            self._note_time()
            self._enter(phase)

    def _enter(self, phase: Phase) -> None:
        """From now on this is what we wait for, and for so long."""
        self._phase, self._since = phase, self._loop.time()
        self._timer.reschedule(min(self._since + self._limit(phase), self._began + self._limits.total))

    def _note_time(self) -> None:
        self._milliseconds[self._phase.value] = 1000 * (self._loop.time() - self._since)

    def _limit(self, phase: Phase) -> float:
        limits = self._limits
        by_phase = {Phase.CONNECT: limits.connect, Phase.TLS: limits.tls, Phase.BODY: limits.write}
        return min(by_phase.get(phase, limits.answer), limits.total)

    def _answer(self) -> Answer | None:
        if self._status is None:
            return None
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in self._status.headers}
        reason = self._status.extensions.get("reason_phrase", b"").decode("latin-1")
        return Answer(status=self._status.status, reason=reason, headers=headers, body=bytes(self._body))

    def _fault(self, kind: FaultKind, text: str) -> Fault:
        # An upload that breaks off is followed by a look for an early answer; it was at the body all the same.
        phase = Phase.BODY if self._phase is Phase.ANSWER and not self._dot_left else self._phase
        return Fault(phase=phase, kind=kind, text=text)

    def _kind(self, error: Exception) -> FaultKind:
        if isinstance(error, httpcore2.TimeoutException):
            return FaultKind.TIMEOUT
        if self._phase is Phase.CONNECT:
            return FaultKind.REFUSED
        if self._phase is Phase.TLS:
            return FaultKind.TLS
        # Where the end came in place of an answer, httpcore2 says so; what h11 refuses has h11's error behind it.
        strange = isinstance(error, httpcore2.ProtocolError) and error.__cause__ is not None
        return FaultKind.PROTOCOL if strange else FaultKind.CUT


def _words(error: BaseException) -> str:
    """The innermost cause, which says most."""
    while error.__cause__ is not None:
        error = error.__cause__
    words = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
    return "".join(character if character.isprintable() else " " for character in words)[:300]

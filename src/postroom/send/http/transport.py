"""What every way out over HTTP has in common: lines, limits, and a report for each request."""

from __future__ import annotations

import asyncio
import ssl
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Generic, TypeVar

import httpcore2

from postroom.fork import tell_after_fork
from postroom.send.contract import BeforeDot, Payload, Phase, Reply, Report
from postroom.send.http.call import Answer, Call
from postroom.send.http.exchange import Exchange, Find, exchange
from postroom.send.http.limits import Limits

_P = TypeVar("_P", bound=Payload)


class HttpTransport(ABC, Generic[_P]):
    """A `Transport` of requests, up to `connections` at once. Nothing is kept between two of them."""

    def __init__(self, *, name: str, connections: int, rate: str | None, limits: Limits, ca: str | None = None) -> None:
        self.name = name
        self.connections = connections
        self.rate = rate
        self._limits = limits
        self._ca = ca
        self._trust: ssl.SSLContext | None = None
        self.forget_parent()
        tell_after_fork(self)

    def forget_parent(self) -> None:
        """Begin anew, as in a process that has just been forked."""
        self._turns = asyncio.Semaphore(self.connections)

    @abstractmethod
    def _call(self, payload: _P) -> Call:
        """The request that carries the payload, as it is to leave now."""

    @abstractmethod
    def _reply(self, answer: Answer, retry_after: float | None) -> Reply:
        """What was answered."""

    @abstractmethod
    async def _find(self, host: str, port: int) -> list[str]:
        """The addresses to connect to; see `Find`."""

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[HttpLine[_P]]:
        """A line for as long as it is wanted; waits while all of them are taken."""
        async with self._turns:
            yield HttpLine(self)

    async def send(self, payload: _P, *, before_dot: BeforeDot | None = None) -> Report:
        """Attempt one payload."""
        async with self.connection() as line:
            return await line.deliver(payload, before_dot=before_dot)

    async def attempt(self, payload: _P, before_dot: BeforeDot | None) -> Report:
        """One request for one payload."""
        made = await self._exchange(self._call(payload), before_dot)
        reply = self._heard(made)
        return Report(
            recipients=(reply,) * len(payload.recipients),
            reply=reply,
            fault=made.fault,
            dot_left=made.dot_left,
            milliseconds=made.milliseconds,
            capabilities_known=made.connected,
        )

    async def close(self) -> None:
        """Nothing is open between requests."""

    async def _ask(self, call: Call) -> Report:
        """A request that sends nothing for anybody."""
        made = await self._exchange(call, None)
        return Report(
            recipients=(),
            reply=self._heard(made),
            fault=made.fault,
            milliseconds=made.milliseconds,
            capabilities_known=made.connected,
        )

    async def _exchange(self, call: Call, before_dot: BeforeDot | None) -> Exchange:
        find: Find = self._find
        trust = self._trusted() if call.secure else None
        return await exchange(call, find=find, trust=trust, limits=self._limits, before_dot=before_dot)

    def _heard(self, made: Exchange) -> Reply | None:
        if made.answer is None:
            return None
        return self._reply(made.answer, made.answer.retry_after(datetime.now(UTC)))

    def _trusted(self) -> ssl.SSLContext:
        """Made when first needed, and once: reading a system's certificates takes a moment."""
        if self._trust is None:
            self._trust = (
                httpcore2.default_ssl_context() if self._ca is None else ssl.create_default_context(cafile=self._ca)
            )
        return self._trust


class HttpLine(Generic[_P]):
    """One request at a time."""

    def __init__(self, transport: HttpTransport[_P]) -> None:
        self._transport = transport

    async def deliver(
        self, payload: _P, /, *, before_dot: BeforeDot | None = None, following: _P | None = None
    ) -> Report:
        """Attempt one payload; what follows has its own turn."""
        return await self._transport.attempt(payload, before_dot)


def plain_reply(answer: Answer, retry_after: float | None) -> Reply:
    """The status, and the beginning of the body as the text."""
    return Reply(phase=Phase.ANSWER, code=answer.status, text=answer.text, retry_after=retry_after)

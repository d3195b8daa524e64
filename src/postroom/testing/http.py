"""An HTTP server that does as it is told, for tests of webhooks and of gateways."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Literal

from postroom.testing.background import BackgroundLoop
from postroom.testing.channel import Channel
from postroom.testing.door import shut

HttpMoment = Literal["connect", "body", "answer"]
"""`connect` is before anything is read, `body` before the body is, `answer` after the request has arrived whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedRequest:
    """A request that arrived whole."""

    method: str
    target: str
    """Path and query."""
    headers: Mapping[str, str]
    """By name in lower case."""
    body: bytes
    status: int
    """What was answered; 0 where nothing was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRule:
    """What to do at one moment."""

    at: HttpMoment
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    raw: bytes | None = None
    """Exactly this in place of an answer."""
    cut: bool = False
    """Close the connection in place of the answer, or behind `raw`."""
    reset: bool = False
    """The same with a TCP reset."""
    stall: bool = False
    """Say nothing, or nothing more than `raw`, and keep the connection open."""
    drip: float | None = None
    """Seconds between two bytes of the answer."""
    path: str | None = None
    """Only for this path. At `connect` none is known yet."""


class ScriptedHttp:
    """Answers 200 to everything until it is told otherwise. Lives in a thread of its own.

    with ScriptedHttp() as server:
        server.script(status=503, headers={"Retry-After": "30"}, times=1)
        server.script(cut=True)                       # takes the request, and the answer never comes
        ...
        assert server.requests[0].headers["webhook-id"]
    """

    def __init__(self, *, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> None:
        self.requests: list[ReceivedRequest] = []
        """Whatever arrived whole, in this order."""
        self.connections = 0
        self.port = 0
        self._host = host
        self._tls = tls
        self._rules: list[tuple[HttpRule, list[int]]] = []
        self._lock = threading.Lock()
        self._open_channels: dict[Channel, asyncio.Task[None]] = {}

    @property
    def url(self) -> str:
        """Where it is: `http://127.0.0.1:12345`."""
        return f"{'https' if self._tls else 'http'}://{self._host}:{self.port}"

    @property
    def accepted(self) -> list[ReceivedRequest]:
        """Those that arrived and were not refused; an answer that was cut off does not undo that."""
        return [request for request in self.requests if request.status < 300]

    def script(
        self,
        *,
        at: HttpMoment = "answer",
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        raw: bytes | None = None,
        cut: bool = False,
        reset: bool = False,
        stall: bool = False,
        drip: float | None = None,
        path: str | None = None,
        times: int | None = None,
    ) -> None:
        """Do this from now on, or the next `times` times; the newest that fits. `HttpRule` says what they mean."""
        rule = HttpRule(
            at=at,
            status=status,
            headers=headers or {},
            body=body,
            raw=raw,
            cut=cut,
            reset=reset,
            stall=stall,
            drip=drip,
            path=path,
        )
        with self._lock:
            self._rules.append((rule, [-1 if times is None else times]))

    def __enter__(self) -> ScriptedHttp:
        self._background = BackgroundLoop("scripted-http")
        self._server = self._background.run(self._open())
        return self

    def __exit__(self, *error: object) -> None:
        self._background.run(self._shut())
        self._background.stop()

    async def _shut(self) -> None:
        await shut(self._server)
        for channel in self._open_channels:
            channel.abort()

    async def _open(self) -> asyncio.Server:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Channel(self._welcome), self._host, self.port, backlog=1000)
        self.port = server.sockets[0].getsockname()[1]
        return server

    def _welcome(self, channel: Channel) -> None:
        self.connections += 1
        task = asyncio.get_running_loop().create_task(self._serve(channel))
        self._open_channels[channel] = task
        task.add_done_callback(lambda task: self._open_channels.pop(channel, None))

    async def _serve(self, channel: Channel) -> None:
        try:
            await self._converse(channel)
            channel.close()
        except (EOFError, OSError):  # the client has gone, or wants no TLS with us
            channel.abort()

    async def _converse(self, channel: Channel) -> None:
        if (rule := self._rule("connect", "")) is not None:
            await self._act(channel, rule)
        if self._tls is not None:
            await channel.start_tls(self._tls)
        method, target, _ = (await channel.line()).decode("latin-1").split(" ", 2)
        headers = await _headers(channel)
        path = target.partition("?")[0]
        if (rule := self._rule("body", path)) is not None:
            await self._act(channel, rule)
        length = int(headers.get("content-length", "0"))
        while len(channel.buffer) < length:
            await channel.read()
        rule = self._rule("answer", path) or HttpRule(at="answer")
        silent = rule.cut or rule.reset or rule.stall
        self.requests.append(
            ReceivedRequest(
                method=method,
                target=target,
                headers=headers,
                body=bytes(channel.buffer[:length]),
                status=0 if silent else rule.status,
            )
        )
        await self._act(channel, rule)

    async def _act(self, channel: Channel, rule: HttpRule) -> None:
        silent = rule.cut or rule.reset or rule.stall
        said = rule.raw if rule.raw is not None else b"" if silent else _answer(rule)
        await _say(channel, said, rule.drip)
        if rule.stall:
            while True:
                channel.buffer.clear()
                await channel.read()
        if rule.reset:
            channel.reset()
        if silent or rule.at != "answer":
            raise EOFError

    def _rule(self, at: HttpMoment, path: str) -> HttpRule | None:
        with self._lock:
            for rule, left in reversed(self._rules):
                if left[0] and rule.at == at and rule.path in (None, path):
                    left[0] -= left[0] > 0
                    return rule
        return None


async def _headers(channel: Channel) -> dict[str, str]:
    headers: dict[str, str] = {}
    while line := (await channel.line()).strip():
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.lower()] = value.strip()
    return headers


def _answer(rule: HttpRule) -> bytes:
    headers = {"Content-Length": str(len(rule.body)), "Connection": "close", **rule.headers}
    lines = [f"HTTP/1.1 {rule.status} {HTTPStatus(rule.status).phrase}", *(f"{n}: {v}" for n, v in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + rule.body


async def _say(channel: Channel, octets: bytes, drip: float | None) -> None:
    if drip is None:
        if octets:
            await channel.write(octets)
        return
    for place in range(len(octets)):
        await channel.write(octets[place : place + 1])
        await asyncio.sleep(drip)

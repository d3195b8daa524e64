"""SMTP clients alone, sixteen connections, ready-made bytes, for a given time: emails per second."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Coroutine, Iterator

import aiosmtplib

from bench import message
from postroom.send.contract import Envelope
from postroom.send.smtp.pool import SmtpTransport

CONNECTIONS = 16

Client = Callable[[int, float], Coroutine[None, None, float]]
"""Sends to a port for so many seconds; emails per second."""
_BATCH = 1000


def envelopes() -> Iterator[Envelope]:
    """Fresh values each time: a connection knows by identity which one it has opened ahead."""
    ready = [(message.recipient(number), message.ready_made(number)) for number in range(_BATCH)]
    return (Envelope(sender=message.SENDER, recipients=(to,), message=body) for to, body in itertools.cycle(ready))


async def postroom(port: int, seconds: float) -> float:
    """Ours, as the worker uses it: the next envelope rides behind the dot."""
    source, deadline, accepted = envelopes(), time.monotonic() + seconds, 0
    transport = SmtpTransport(f"smtp://127.0.0.1:{port}?connections={CONNECTIONS}")

    async def lane() -> None:
        nonlocal accepted
        async with transport.connection() as connection:
            envelope: Envelope | None = next(source)
            while envelope is not None:
                following = next(source) if time.monotonic() < deadline else None
                report = await connection.deliver(envelope, following=following)
                if report.reply is None or report.reply.code != 250:
                    raise RuntimeError(f"the sink answered {report}")
                accepted += 1
                envelope = following

    elapsed = await _together(lane)
    await transport.close()
    return accepted / elapsed


async def aiosmtplib_client(port: int, seconds: float) -> float:
    """What most people would write in asyncio: a connection each, kept open."""
    source, deadline, accepted = envelopes(), time.monotonic() + seconds, 0

    async def lane() -> None:
        nonlocal accepted
        client = aiosmtplib.SMTP(hostname="127.0.0.1", port=port, start_tls=False)
        await client.connect()
        while time.monotonic() < deadline:
            envelope = next(source)
            await client.sendmail(envelope.sender, list(envelope.recipients), envelope.message)
            accepted += 1
        client.close()

    elapsed = await _together(lane)
    return accepted / elapsed


class _Bare(asyncio.Protocol):
    """The least that a pipelining client can do: it counts replies, and reads none."""

    def __init__(self, source: Iterator[Envelope], deadline: float) -> None:
        self.accepted = 0
        self.over = asyncio.get_running_loop().create_future()
        self._source = source
        self._deadline = deadline
        self._due = 1
        self._body = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(b"HELO bench.example.com\r\n")
        self._due = 2

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        self._due -= data.count(b"\n")
        if self._due:
            return
        if self._body:
            self._due = 1
            self._transport.write(self._body)
            self._body = b""
            self.accepted += 1
        elif time.monotonic() < self._deadline:
            envelope = next(self._source)
            self._due, self._body = 3, envelope.message + b".\r\n"
            words = envelope.sender.encode(), envelope.recipients[0].encode()
            self._transport.write(b"MAIL FROM:<%b>\r\nRCPT TO:<%b>\r\nDATA\r\n" % words)
        else:
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self.over.set_result(None)


async def bare(port: int, seconds: float) -> float:
    """No reply looked at, no time limit, no report: what the event loop and the sink leave to be had."""
    source, deadline, accepted = envelopes(), time.monotonic() + seconds, 0

    async def lane() -> None:
        nonlocal accepted
        loop = asyncio.get_running_loop()
        _transport, session = await loop.create_connection(lambda: _Bare(source, deadline), "127.0.0.1", port)
        await session.over
        accepted += session.accepted

    elapsed = await _together(lane)
    return accepted / elapsed


async def _together(lane: Callable[[], Coroutine[None, None, None]]) -> float:
    started = time.monotonic()
    async with asyncio.TaskGroup() as group:
        for _ in range(CONNECTIONS):
            group.create_task(lane())
    return time.monotonic() - started

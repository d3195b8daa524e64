"""The SMTP client alone: ready-made bytes to a C sink (Postfix's smtp-sink) over 16 connections, here and 20 ms away.

python -m bench.smtp

Clients are measured in turns, each for `SECONDS` in each of `ROUNDS`; a figure is the median. «bare» is the least that
an asyncio client can do: MAIL, RCPT and DATA in one write, no reply looked at, no time limit, no report.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import multiprocessing.connection
import os
import resource
import shutil
import socket
import statistics
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import aiosmtplib

from postroom.send.contract import Envelope
from postroom.send.smtp import SmtpTransport
from postroom.testing import FaultProxy

Row = tuple[str, float, str]
Client = Callable[[int, float], Awaitable[int]]
"""Sends to a port for some seconds; returns how many emails were accepted."""

CONNECTIONS = 16
SECONDS = float(os.environ.get("BENCH_SECONDS", "3"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
ROUND_TRIP = 0.020
SENDER = "shop@example.com"
PARAGRAPH = "Your order has left our warehouse and will arrive on Monday, if nothing keeps it.\r\n"
MESSAGE = f"From: <{SENDER}>\r\nSubject: Your order\r\nMessage-ID: <1@example.com>\r\n\r\n{PARAGRAPH * 29}".encode()


def letter(number: int) -> Envelope:
    return Envelope(sender=SENDER, recipients=(f"user{number}@example.net",), message=MESSAGE)


async def in_lanes(lane: Callable[[float], Awaitable[int]], seconds: float) -> int:
    end = time.monotonic() + seconds
    return sum(await asyncio.gather(*(lane(end) for _ in range(CONNECTIONS))))


def ours(*, chained: bool) -> Client:
    async def client(port: int, seconds: float) -> int:
        transport = SmtpTransport(f"smtp://127.0.0.1:{port}?connections={CONNECTIONS}")

        async def lane(end: float) -> int:
            sent, following = 0, letter(0)
            async with transport.connection() as connection:
                while time.monotonic() < end:
                    envelope, following = following, letter(sent + 1)
                    report = await connection.deliver(
                        envelope, before_dot=lambda: True, following=following if chained else None
                    )
                    assert report.reply is not None
                    assert report.reply.code == 250
                    sent += 1
            return sent

        sent = await in_lanes(lane, seconds)
        await transport.close()
        return sent

    return client


async def aiosmtplib_pool(port: int, seconds: float) -> int:
    async def lane(end: float) -> int:
        sent = 0
        async with aiosmtplib.SMTP(hostname="127.0.0.1", port=port, start_tls=False) as client:
            while time.monotonic() < end:
                await client.sendmail(SENDER, [f"user{sent}@example.net"], MESSAGE)
                sent += 1
        return sent

    return await in_lanes(lane, seconds)


class Bare(asyncio.Protocol):
    """Counts lines instead of reading them."""

    def __init__(self, end: float) -> None:
        self.sent = -1
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._end = end
        self._missing = 1
        self._steps: Iterator[tuple[bytes, int]] = self._conversation()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._missing -= data.count(b"\n")
        if self._missing > 0:
            return
        for command, replies in self._steps:
            self._missing = replies
            self._transport.write(command)
            return
        self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self.done.set_result(None)

    def _conversation(self) -> Iterator[tuple[bytes, int]]:
        yield b"HELO bench\r\n", 1
        for self.sent in range(1 << 62):
            if time.monotonic() > self._end:
                return
            yield b"MAIL FROM:<%b>\r\nRCPT TO:<user%d@example.net>\r\nDATA\r\n" % (SENDER.encode(), self.sent), 3
            yield MESSAGE + b".\r\n", 1


async def bare(port: int, seconds: float) -> int:
    async def lane(end: float) -> int:
        _, protocol = await asyncio.get_running_loop().create_connection(lambda: Bare(end), "127.0.0.1", port)
        await protocol.done
        return protocol.sent

    return await in_lanes(lane, seconds)


@contextmanager
def sink() -> Iterator[int]:
    """A C server that accepts everything and keeps nothing; yields its port."""
    program = shutil.which("smtp-sink") or "/usr/sbin/smtp-sink"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    user = ["-u", "nobody"] if os.geteuid() == 0 else []
    process = subprocess.Popen([program, *user, "-4", f"127.0.0.1:{port}", "1000"])
    try:
        _wait_for(port)
        yield port
    finally:
        process.terminate()
        process.wait()


@contextmanager
def far_away(port: int) -> Iterator[int]:
    """The same server, `ROUND_TRIP` away; in a process of its own, so that it does not take the client's time."""
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_proxy, args=(port, theirs), daemon=True)
    process.start()
    try:
        yield ours.recv()
    finally:
        ours.send(None)
        process.join()


def _proxy(port: int, pipe: multiprocessing.connection.Connection) -> None:
    with FaultProxy(target_port=port, round_trip=ROUND_TRIP) as proxy:
        pipe.send(proxy.port)
        pipe.recv()


def _wait_for(port: int) -> None:
    end = time.monotonic() + 10
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)
        else:
            return


def _measure(clients: dict[str, Client], port: int) -> tuple[dict[str, float], dict[str, float]]:
    """Emails per second and microseconds of CPU per email: medians over the rounds."""
    rates: dict[str, list[float]] = {name: [] for name in clients}
    costs: dict[str, list[float]] = {name: [] for name in clients}
    for _ in range(ROUNDS):
        for name, client in clients.items():
            before, began = _cpu(), time.monotonic()
            sent = asyncio.run(_counted(client, port))
            rates[name].append(sent / (time.monotonic() - began))
            costs[name].append((_cpu() - before) / sent * 1e6)
    return (
        {name: statistics.median(values) for name, values in rates.items()},
        {name: statistics.median(values) for name, values in costs.items()},
    )


async def _counted(client: Client, port: int) -> int:
    return await client(port, SECONDS)


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def run() -> list[Row]:
    """Every figure of this bench."""
    clients: dict[str, Client] = {
        "aiosmtplib": aiosmtplib_pool,
        "bare, pipelined": bare,
        "Postroom, pipelined": ours(chained=False),
        "Postroom, next envelope behind the dot": ours(chained=True),
    }
    rows: list[Row] = []
    best = "Postroom, next envelope behind the dot"
    with sink() as port:
        near, costs = _measure(clients, port)
        with far_away(port) as distant:
            far, _ = _measure(clients, distant)
    for name in clients:
        rows.append((f"SMTP: {name}", near[name], "emails/s"))
        rows.append((f"SMTP: {name}, CPU", costs[name], "µs/email"))
        rows.append((f"SMTP 20 ms away: {name}", far[name], "emails/s"))
    rows.append(("SMTP: Postroom against bare pipelined", near[best] / near["bare, pipelined"], "×"))
    rows.append(("SMTP: Postroom against aiosmtplib", near[best] / near["aiosmtplib"], "×"))
    rows.append(("SMTP 20 ms away: Postroom against aiosmtplib", far[best] / far["aiosmtplib"], "×"))
    return rows


if __name__ == "__main__":
    for name, value, unit in run():
        print(f"{name:<60} {value:>12,.2f} {unit}")

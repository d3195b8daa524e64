"""One request over a network that misbehaves: what is reported is never more certain than what is known."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from postroom.send.contract import FaultKind, Phase, Report
from postroom.send.http.limits import Limits
from postroom.send.webhook.delivery import Delivery
from postroom.send.webhook.transport import WebhookTransport
from postroom.testing import ScriptedHttp
from postroom.testing.fixtures import http_server

__all__ = ["http_server"]

ROOMY = Limits(connect=20, tls=20, write=20, answer=20, total=60)
LARGE = b'"' + b"x" * 8_000_000 + b'"'
"""More than the kernel's buffers hold, so that it has not left while nobody reads it."""

Send = Callable[..., Awaitable[Report]]


@pytest.fixture
def send(http_server: ScriptedHttp) -> Send:
    async def send(body: bytes = b"{}", limits: Limits = ROOMY, **options: object) -> Report:
        transport = WebhookTransport(allow=["127.0.0.0/8"], limits=limits)
        return await transport.send(Delivery(url=http_server.url, id="msg_1", body=body), **options)  # type: ignore[arg-type]

    return send


async def test_a_refused_connection_is_no_doubt() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}/"
        transport = WebhookTransport(allow=["127.0.0.0/8"], limits=ROOMY)
        report = await transport.send(Delivery(url=url, id="msg_1", body=b"{}"))

    assert report.fault is not None
    assert (report.fault.phase, report.fault.kind) == (Phase.CONNECT, FaultKind.REFUSED)
    assert (report.dot_left, report.capabilities_known) == (False, False)


@pytest.mark.parametrize("how", ["cut", "reset"])
async def test_a_connection_that_breaks_during_the_upload_is_no_doubt(
    http_server: ScriptedHttp, send: Send, how: str
) -> None:
    http_server.script(at="body", **{how: True})  # type: ignore[arg-type]
    asked: list[str] = []
    report = await send(LARGE, before_dot=lambda: bool(asked.append("asked")) or True)

    assert report.fault is not None
    assert (report.fault.phase, report.fault.kind) == (Phase.BODY, FaultKind.CUT)
    assert (report.dot_left, asked, http_server.requests) == (False, [], [])


async def test_an_upload_that_nobody_takes_in_ends_by_its_limit() -> None:
    limits = replace(ROOMY, write=0.2)
    asked: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as door:  # its kernel takes the connection, and nobody reads it
        url = f"http://127.0.0.1:{door.getsockname()[1]}/"
        transport = WebhookTransport(allow=["127.0.0.0/8"], limits=limits)
        report = await transport.send(
            Delivery(url=url, id="msg_1", body=LARGE), before_dot=lambda: bool(asked.append("asked")) or True
        )

    assert report.fault is not None
    assert (report.fault.phase, report.fault.kind) == (Phase.BODY, FaultKind.TIMEOUT)
    assert (report.dot_left, asked) == (False, [])


@pytest.mark.parametrize("how", ["cut", "reset"])
async def test_an_answer_that_is_cut_off_is_a_doubt(http_server: ScriptedHttp, send: Send, how: str) -> None:
    http_server.script(**{how: True})  # type: ignore[arg-type]
    report = await send()

    assert report.fault is not None
    assert (report.fault.phase, report.fault.kind) == (Phase.ANSWER, FaultKind.CUT)
    assert (report.dot_left, report.reply) == (True, None)


async def test_an_answer_that_does_not_come_in_time_is_a_doubt(http_server: ScriptedHttp, send: Send) -> None:
    http_server.script(stall=True)
    report = await send(limits=replace(ROOMY, answer=0.2))

    assert report.fault is not None
    assert (report.fault.phase, report.fault.kind) == (Phase.ANSWER, FaultKind.TIMEOUT)
    assert report.dot_left


async def test_an_answer_that_drips_gains_nothing(http_server: ScriptedHttp, send: Send) -> None:
    """Every byte comes soon after the last, and yet the whole takes too long."""
    http_server.script(raw=b"HTTP/1.1 200 OK\r\n" + b"X-Padding: x\r\n" * 10_000, drip=0.001)
    report = await send(limits=replace(ROOMY, answer=0.3))

    assert report.fault is not None
    assert (report.fault.phase, report.fault.kind) == (Phase.ANSWER, FaultKind.TIMEOUT)
    assert report.dot_left


async def test_the_total_ends_what_no_other_limit_does(http_server: ScriptedHttp, send: Send) -> None:
    http_server.script(stall=True)
    report = await send(limits=replace(ROOMY, total=0.2))

    assert report.fault is not None
    assert report.fault.kind is FaultKind.TIMEOUT


@pytest.mark.parametrize(
    "raw",
    [b"SSH-2.0-OpenSSH_9.6\r\n\r\n", b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 40_000, b"HTTP/1.1 abc\r\n\r\n"],
    ids=["another protocol", "headers without end", "no status"],
)
async def test_what_is_not_http_is_a_doubt(http_server: ScriptedHttp, send: Send, raw: bytes) -> None:
    http_server.script(raw=raw, stall=True)
    report = await send()

    assert report.fault is not None
    assert (report.fault.phase, report.fault.kind) == (Phase.ANSWER, FaultKind.PROTOCOL)
    assert report.dot_left


@pytest.mark.parametrize("end", ["cut", "stall"])
async def test_a_status_is_an_answer_whatever_becomes_of_its_body(
    http_server: ScriptedHttp, send: Send, end: str
) -> None:
    http_server.script(raw=b"HTTP/1.1 202 Accepted\r\nContent-Length: 100\r\n\r\nthank", **{end: True})  # type: ignore[arg-type]
    report = await send(limits=replace(ROOMY, answer=0.5))

    assert report.fault is None
    assert report.reply is not None
    assert (report.reply.code, report.reply.text) == (202, "thank")


async def test_of_an_endless_body_only_the_beginning_is_read(http_server: ScriptedHttp, send: Send) -> None:
    http_server.script(status=400, body=b"no\r\n\x00\xff" + b"y" * 10_000_000)
    report = await send()

    assert report.reply is not None
    assert report.reply.code == 400
    assert report.reply.text.startswith("no \N{REPLACEMENT CHARACTER}yyyy")
    assert len(report.reply.text) == 500


async def test_an_early_refusal_is_heard_although_the_upload_broke_off(http_server: ScriptedHttp, send: Send) -> None:
    answer = b"HTTP/1.1 413 Too Large\r\nContent-Length: 9\r\nConnection: close\r\n\r\ntoo large"
    http_server.script(at="body", raw=answer, stall=False, cut=True)
    report = await send(LARGE)

    assert not report.dot_left
    # The reset that follows the answer may overtake it: then the upload broke off, and that is what is told.
    assert report.reply is None or report.reply.code == 413
    assert report.reply is not None or (report.fault is not None and report.fault.phase is Phase.BODY)


async def test_a_large_body_arrives_whole(http_server: ScriptedHttp, send: Send) -> None:
    report = await send(LARGE)

    assert report.reply is not None
    assert [request.body for request in http_server.requests] == [LARGE]


async def test_an_abandoned_large_body_never_arrives_whole(http_server: ScriptedHttp, send: Send) -> None:
    report = await send(LARGE, before_dot=lambda: False)

    assert report.fault is not None
    assert (report.fault.kind, report.dot_left) == (FaultKind.ABANDONED, False)
    assert http_server.requests == []


async def test_a_name_that_does_not_resolve_in_time_is_no_doubt() -> None:
    async def never(host: str, port: int) -> list[str]:
        await asyncio.Event().wait()
        return []

    transport = WebhookTransport(limits=replace(ROOMY, connect=0.1), resolve=never)
    report = await transport.send(Delivery(url="https://slow.example/", id="msg_1", body=b"{}"))

    assert report.fault is not None
    assert (report.fault.phase, report.fault.kind, report.dot_left) == (Phase.CONNECT, FaultKind.TIMEOUT, False)


async def test_a_name_without_an_address_is_no_doubt() -> None:
    transport = WebhookTransport(limits=ROOMY)
    report = await transport.send(Delivery(url="https://nowhere.invalid/", id="msg_1", body=b"{}"))

    assert report.fault is not None
    assert (report.fault.phase, report.fault.kind) == (Phase.CONNECT, FaultKind.REFUSED)
    assert "nowhere.invalid has no address" in report.fault.text


async def test_another_address_is_tried_where_the_first_does_not_answer(http_server: ScriptedHttp) -> None:
    async def two(host: str, port: int) -> list[str]:
        return ["127.0.0.2", "127.0.0.1"]  # nobody listens at the first

    transport = WebhookTransport(allow=["127.0.0.0/8"], limits=ROOMY, resolve=two)
    url = f"http://two.example:{http_server.port}/"
    report = await transport.send(Delivery(url=url, id="msg_1", body=b"{}"))

    assert report.reply is not None
    assert [request.headers["host"] for request in http_server.requests] == [f"two.example:{http_server.port}"]

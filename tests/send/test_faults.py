"""Whatever goes wrong, at whatever phase, the report says exactly how far it came."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from postroom.send.contract import FaultKind, Phase, Report
from postroom.send.smtp import SmtpTransport
from postroom.testing import FaultProxy, ScriptedSmtp
from tests.send.conftest import QUICK
from tests.send.letters import ADA, BOB, letter

Connect = Callable[..., SmtpTransport]

LIMITS = {"greeting": "greeting", "ehlo": "command", "mail": "command", "rcpt": "command", "data": "data", "dot": "dot"}
"""Which time limit each moment is under."""
MOMENTS = {
    "greeting": Phase.GREETING,
    "ehlo": Phase.HELLO,
    "mail": Phase.MAIL,
    "rcpt": Phase.RCPT,
    "data": Phase.DATA,
    "dot": Phase.DOT,
}
PIPELINING = pytest.mark.parametrize("extensions", [("PIPELINING",), ()], ids=["pipelined", "in turn"])


async def attempt(connect: Connect, extensions: tuple[str, ...], options: str = "", **rule: Any) -> Report:
    with ScriptedSmtp(extensions=extensions) as server:
        server.script(**rule)
        report = await connect(server.url, options).send(letter(1, ADA, BOB))
        assert server.violations == []
    return report


def short(at: str) -> str:
    """Little time for one moment and plenty for the others: a busy machine must not fail before it gets there."""
    return f"{LIMITS[at]}=500ms"


def said(report: Report) -> tuple[FaultKind | None, Phase | None, bool]:
    fault = report.fault
    return (fault and fault.kind, fault and fault.phase, report.dot_left)


@PIPELINING
@pytest.mark.parametrize("at", MOMENTS)
async def test_a_cut_is_reported_where_it_happened(connect: Connect, extensions: tuple[str, ...], at: str) -> None:
    report = await attempt(connect, extensions, at=at, cut=True)

    assert said(report) == (FaultKind.CUT, MOMENTS[at], at == "dot")


@PIPELINING
@pytest.mark.parametrize("at", ["ehlo", "mail", "rcpt", "data", "dot"])
async def test_a_reset_is_reported_where_it_happened(connect: Connect, extensions: tuple[str, ...], at: str) -> None:
    """Not at the greeting: there the kernel may have seen the reset before we know that we were connected."""
    report = await attempt(connect, extensions, at=at, cut=True, reset=True)

    assert said(report) == (FaultKind.CUT, MOMENTS[at], at == "dot")


@PIPELINING
@pytest.mark.parametrize("at", MOMENTS)
async def test_garbage_is_not_taken_for_a_reply(connect: Connect, extensions: tuple[str, ...], at: str) -> None:
    report = await attempt(connect, extensions, at=at, reply=b"HTTP/1.1 400 Bad Request\r\n\r\n")

    assert said(report) == (FaultKind.PROTOCOL, MOMENTS[at], at == "dot")


@PIPELINING
@pytest.mark.parametrize("at", MOMENTS)
async def test_silence_ends_with_the_limit(connect: Connect, extensions: tuple[str, ...], at: str) -> None:
    report = await attempt(connect, extensions, short(at), at=at, stall=True)

    assert said(report) == (FaultKind.TIMEOUT, MOMENTS[at], at == "dot")


@PIPELINING
@pytest.mark.parametrize("at", MOMENTS)
async def test_dripping_bytes_do_not_stretch_the_limit(connect: Connect, extensions: tuple[str, ...], at: str) -> None:
    report = await attempt(connect, extensions, short(at), at=at, reply="250 " + "x" * 1000, drip=0.01)

    assert said(report) == (FaultKind.TIMEOUT, MOMENTS[at], at == "dot")


@PIPELINING
@pytest.mark.parametrize("at", MOMENTS)
@pytest.mark.parametrize("reply", [b"2" * 100_000, b"250-" + b"x" * 5000 + b"\r\n"], ids=["no line end", "long line"])
async def test_an_overlong_line_ends_the_session(
    connect: Connect, extensions: tuple[str, ...], at: str, reply: bytes
) -> None:
    report = await attempt(connect, extensions, at=at, reply=reply)

    assert said(report) == (FaultKind.PROTOCOL, MOMENTS[at], at == "dot")


@PIPELINING
@pytest.mark.parametrize("at", MOMENTS)
async def test_an_endless_reply_ends_the_session(connect: Connect, extensions: tuple[str, ...], at: str) -> None:
    report = await attempt(connect, extensions, at=at, reply=b"250-and more\r\n", endless=True)

    assert said(report) == (FaultKind.PROTOCOL, MOMENTS[at], at == "dot")


@PIPELINING
@pytest.mark.parametrize("at", ["mail", "rcpt", "data", "dot"])
async def test_a_reply_that_asks_for_more_is_no_yes(connect: Connect, extensions: tuple[str, ...], at: str) -> None:
    """At DATA a 250 asks for too little: it must not be taken for a 354."""
    reply = "250 2.0.0 Ok" if at == "data" else "354 go on"
    report = await attempt(connect, extensions, at=at, reply=reply)

    assert said(report) == (FaultKind.PROTOCOL, MOMENTS[at], at == "dot")


@PIPELINING
@pytest.mark.parametrize(("at", "code"), [("greeting", 554), ("greeting", 421), ("ehlo", 421), ("ehlo", 550)])
async def test_a_refusal_before_the_envelope_is_a_reply(
    connect: Connect, extensions: tuple[str, ...], at: str, code: int
) -> None:
    report = await attempt(connect, extensions, at=at, reply=f"{code} go away")

    assert report.reply is not None
    assert (report.reply.phase, report.reply.code) == (MOMENTS[at], code)
    assert report.recipients == (None, None)
    assert report.capabilities_known == (at == "ehlo")


@PIPELINING
async def test_a_closed_session_among_the_recipients_keeps_what_was_said(
    connect: Connect, extensions: tuple[str, ...]
) -> None:
    report = await attempt(connect, extensions, at="rcpt", argument=BOB, reply="421 4.7.0 enough", cut="after")

    assert [reply and reply.code for reply in report.recipients] == [250, 421]
    assert report.reply is not None
    assert (report.reply.phase, report.reply.code, report.dot_left) == (Phase.RCPT, 421, False)


@PIPELINING
async def test_a_refusal_during_the_upload_is_heard(connect: Connect, extensions: tuple[str, ...]) -> None:
    """Nothing was sent: the dot had not left when the server said no."""
    with ScriptedSmtp(extensions=extensions) as server:
        server.script(at="body", reply="552 5.3.4 too much", stall=True)
        report = await connect(server.url).send(letter(text=b"x" * 10_000_000 + b"\r\n"))

    assert report.reply is not None
    assert (report.reply.phase, report.reply.code, report.dot_left) == (Phase.BODY, 552, False)


async def test_an_upload_that_stands_still_ends_with_the_block_limit(connect: Connect) -> None:
    with ScriptedSmtp() as server:
        server.script(at="body", stall=True)
        report = await connect(server.url, "block=200ms").send(letter(text=b"x" * 10_000_000 + b"\r\n"))

    assert said(report) == (FaultKind.TIMEOUT, Phase.BODY, False)


async def test_an_upload_that_is_cut_has_not_sent_the_dot(connect: Connect) -> None:
    with ScriptedSmtp() as server, FaultProxy(target_port=server.port) as network:
        network.cut_after(client_bytes=100_000)
        report = await connect(f"smtp://127.0.0.1:{network.port}", QUICK).send(letter(text=b"x" * 10_000_000 + b"\r\n"))

    assert said(report) == (FaultKind.CUT, Phase.BODY, False)
    assert server.messages == []


@pytest.mark.parametrize("extra", [b"250 one too many\r\n", b"25", b"\r\n"], ids=["reply", "part", "empty line"])
@pytest.mark.parametrize("at", ["data", "ehlo"])
async def test_more_than_was_asked_for_ends_the_session(connect: Connect, at: str, extra: bytes) -> None:
    """Above all it is never taken for the reply to a dot that has not left yet."""
    usual = b"354 go ahead\r\n" if at == "data" else b"250 hello\r\n"
    report = await attempt(connect, ("PIPELINING",), at=at, reply=usual + extra)

    assert report.fault is not None
    assert (report.fault.kind, report.reply, report.dot_left) == (FaultKind.PROTOCOL, None, False)


async def test_a_good_reply_to_the_dot_stands_whatever_is_said_behind_it(connect: Connect) -> None:
    report = await attempt(connect, ("PIPELINING",), at="dot", reply=b"250 2.0.0 Ok\r\n250 and again\r\n")

    assert report.reply is not None
    assert (report.reply.phase, report.reply.code, report.fault) == (Phase.DOT, 250, None)


async def test_nobody_listening_is_a_refused_connection(connect: Connect) -> None:
    with ScriptedSmtp() as server:
        port = server.port
    report = await connect(f"smtp://127.0.0.1:{port}").send(letter())

    assert said(report) == (FaultKind.REFUSED, Phase.CONNECT, False)
    assert not report.capabilities_known


async def test_a_name_that_does_not_exist_is_a_refused_connection(connect: Connect) -> None:
    report = await connect("smtp://nowhere.invalid").send(letter())

    assert said(report) == (FaultKind.REFUSED, Phase.CONNECT, False)


async def test_the_time_of_every_step_is_told(connect: Connect, smtp_server: ScriptedSmtp) -> None:
    transport = connect(smtp_server.url)
    first, second = await transport.send(letter(1)), await transport.send(letter(2))

    assert list(first.milliseconds) == ["connect", "greeting", "hello", "mail", "body", "dot"]
    assert list(second.milliseconds) == ["mail", "body", "dot"]
    assert all(spent >= 0 for spent in (*first.milliseconds.values(), *second.milliseconds.values()))


async def test_a_line_keeps_nothing_of_a_message_that_was_cut_off(connect: Connect) -> None:
    """Every line may be left with one: sixteen of the largest would be a lot of memory."""
    with ScriptedSmtp() as server, FaultProxy(target_port=server.port) as network:
        transport = connect(f"smtp://127.0.0.1:{network.port}")
        envelope = letter(1, ADA, text=b"Hello.\r\n" * 2_500_000)  # more than sockets hold
        before = sys.getrefcount(envelope.message)
        async with transport.connection() as line:
            network.cut_after(client_bytes=500_000)
            report = await line.deliver(envelope)
            kept = sys.getrefcount(envelope.message) - before

    assert report.fault is not None
    assert report.fault.phase is Phase.BODY
    assert kept == 0

"""Connections are kept, replaced and given up without anybody noticing, and without a second copy."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

import pytest

from postroom.errors import ConfigurationError
from postroom.send.contract import FaultKind, Phase, Report
from postroom.send.smtp import SmtpTransport
from postroom.send.smtp.connection import Connection
from postroom.testing import FaultProxy, ScriptedSmtp
from postroom.testing.background import BackgroundLoop
from tests.send.conftest import QUICK
from tests.send.letters import letter, message_id

Connect = Callable[..., SmtpTransport]

FORKS = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


def in_child(send: Callable[[], Report]) -> int:
    """The exit code of a forked process that does just this: 0 when the email was accepted."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 1
    try:
        reply = send().reply
        code = 0 if reply is not None and reply.code == 250 else 2
    finally:
        os._exit(code)


async def test_one_email_after_another_uses_one_connection(connect: Connect, smtp_server: ScriptedSmtp) -> None:
    transport = connect(smtp_server.url)
    for number in range(5):
        await transport.send(letter(number))

    assert smtp_server.connections == 1
    assert len(smtp_server.messages) == 5


async def test_no_more_connections_than_allowed(connect: Connect, smtp_server: ScriptedSmtp) -> None:
    transport = connect(smtp_server.url, "connections=3")
    await asyncio.gather(*(transport.send(letter(number)) for number in range(30)))

    assert transport.connections == 3
    assert smtp_server.connections == 3
    assert len(smtp_server.messages) == 30


async def test_a_connection_is_given_up_after_its_share_of_emails(connect: Connect, smtp_server: ScriptedSmtp) -> None:
    letters = [letter(number) for number in range(7)]
    async with connect(smtp_server.url, "emails_per_connection=3").connection() as line:
        for current, following in zip(letters, [*letters[1:], None], strict=True):
            await line.deliver(current, following=following)

    assert [message.connection for message in smtp_server.messages] == [1, 1, 1, 2, 2, 2, 3]
    assert [message.data for message in smtp_server.messages] == [one.message for one in letters]


@pytest.mark.parametrize("manner", ["cut", "421"])
async def test_a_connection_that_the_server_closed_while_idle_is_replaced_silently(
    connect: Connect, smtp_server: ScriptedSmtp, manner: str
) -> None:
    transport = connect(smtp_server.url)
    await transport.send(letter(1))
    if manner == "cut":
        smtp_server.cut_all()
    else:
        smtp_server.script(at="mail", reply="421 4.4.2 idle for too long", cut="after", times=1)
    report = await transport.send(letter(2))

    assert report.reply is not None
    assert report.reply.code == 250
    assert smtp_server.connections == 2
    assert smtp_server.copies(message_id(2)) == 1


async def test_a_connection_is_replaced_once_and_then_the_trouble_is_told(
    connect: Connect, smtp_server: ScriptedSmtp
) -> None:
    transport = connect(smtp_server.url)
    await transport.send(letter(1))
    smtp_server.script(at="mail", cut=True)
    report = await transport.send(letter(2))

    assert report.fault is not None
    assert (report.fault.kind, report.fault.phase) == (FaultKind.CUT, Phase.MAIL)
    assert smtp_server.connections == 2


@pytest.mark.parametrize("at", ["rcpt", "data"])
async def test_a_connection_that_ends_after_mail_was_answered_is_not_replaced(
    connect: Connect, smtp_server: ScriptedSmtp, at: str
) -> None:
    """What the server has begun to deal with is for the retry policy to decide."""
    transport = connect(smtp_server.url)
    await transport.send(letter(1))
    smtp_server.script(at=at, cut=True, times=1)  # type: ignore[arg-type]
    report = await transport.send(letter(2))

    assert report.fault is not None
    assert (report.fault.kind, report.fault.phase.value, report.dot_left) == (FaultKind.CUT, at, False)
    assert smtp_server.connections == 1


async def test_a_dot_without_a_reply_is_never_tried_again_here(connect: Connect, smtp_server: ScriptedSmtp) -> None:
    """Whether to risk a second copy is not the transport's decision."""
    transport = connect(smtp_server.url)
    await transport.send(letter(1))
    smtp_server.script(at="dot", cut=True)
    report = await transport.send(letter(2))

    assert report.dot_left
    assert report.reply is None
    assert smtp_server.copies(message_id(2)) == 1


async def test_unsolicited_words_while_idle_end_the_session_and_the_next_email_takes_another(
    connect: Connect, smtp_server: ScriptedSmtp
) -> None:
    smtp_server.script(at="dot", reply=b"250 2.0.0 Ok\r\n250 2.0.0 Ok again\r\n", times=1)
    transport = connect(smtp_server.url)
    first, second = await transport.send(letter(1)), await transport.send(letter(2))

    assert [report.reply and report.reply.code for report in (first, second)] == [250, 250]
    assert [message.connection for message in smtp_server.messages] == [1, 2]


async def test_an_idle_connection_is_closed_in_the_end(connect: Connect, smtp_server: ScriptedSmtp) -> None:
    transport = connect(smtp_server.url, "idle=50ms")
    await transport.send(letter(1))
    await asyncio.to_thread(smtp_server.wait_until, lambda: "QUIT" in smtp_server.commands)
    report = await transport.send(letter(2))

    assert report.reply is not None
    assert report.reply.code == 250
    assert smtp_server.connections == 2


async def test_leaving_says_quit(connect: Connect, smtp_server: ScriptedSmtp) -> None:
    transport = connect(smtp_server.url)
    await transport.send(letter(1))
    await transport.close()
    await asyncio.to_thread(smtp_server.wait_until, lambda: "QUIT" in smtp_server.commands)

    assert smtp_server.commands[-1] == "QUIT"


async def test_cancelled_before_the_dot_nothing_is_sent_and_the_connection_is_gone(
    connect: Connect, smtp_server: ScriptedSmtp
) -> None:
    smtp_server.script(at="data", stall=True, times=1)
    transport = connect(smtp_server.url)
    sending = asyncio.create_task(transport.send(letter(1)))
    await asyncio.to_thread(smtp_server.wait_until, lambda: "DATA" in smtp_server.commands)
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    await transport.send(letter(2))

    assert [message.message_id for message in smtp_server.messages] == [message_id(2)]
    assert smtp_server.connections == 2


async def test_cancelled_while_connecting_the_lane_is_free_again(connect: Connect, smtp_server: ScriptedSmtp) -> None:
    smtp_server.script(at="greeting", stall=True, times=1)
    transport = connect(smtp_server.url, "connections=1")
    sending = asyncio.create_task(transport.send(letter(1)))
    await asyncio.to_thread(smtp_server.wait_until, lambda: smtp_server.connections == 1)
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    report = await transport.send(letter(2))

    assert report.reply is not None
    assert report.reply.code == 250


async def test_an_error_of_the_caller_before_the_dot_sends_nothing(connect: Connect, smtp_server: ScriptedSmtp) -> None:
    def explode() -> bool:
        raise RuntimeError("the journal cannot be written")

    transport = connect(smtp_server.url)
    with pytest.raises(RuntimeError, match="journal"):
        await transport.send(letter(1), before_dot=explode)
    await transport.send(letter(2))

    assert [message.message_id for message in smtp_server.messages] == [message_id(2)]


async def test_an_outage_ends_when_the_server_is_back(connect: Connect) -> None:
    with ScriptedSmtp() as server, FaultProxy(target_port=server.port) as network:
        transport = connect(f"smtp://127.0.0.1:{network.port}", QUICK)
        await transport.send(letter(1))
        network.refuse()
        during = await transport.send(letter(2))
        network.accept()
        after = await transport.send(letter(2))

    assert during.fault is not None
    assert (during.fault.kind, during.dot_left) == (FaultKind.REFUSED, False)
    assert after.reply is not None
    assert after.reply.code == 250
    assert server.copies(message_id(2)) == 1


def test_a_transport_outlives_its_event_loop(smtp_server: ScriptedSmtp) -> None:
    """Synchronous callers run a loop per call; connections of an earlier one are not touched."""
    transport = SmtpTransport(f"{smtp_server.url}?{QUICK}")

    async def send_and_close(number: int) -> int | None:
        report = await transport.send(letter(number))
        await transport.close()
        return report.reply and report.reply.code

    assert [asyncio.run(send_and_close(number)) for number in (1, 2)] == [250, 250]


def test_a_connection_of_another_event_loop_is_not_used(smtp_server: ScriptedSmtp) -> None:
    """Nor is it closed from there: its own loop may still be running."""
    transport = SmtpTransport(f"{smtp_server.url}?{QUICK}")

    async def send(number: int) -> Connection | None:
        async with transport.connection() as line:
            await line.deliver(letter(number))
            return line._connection

    async def leave(connection: Connection | None) -> None:
        assert connection is not None
        assert connection.usable
        connection.close()
        await connection.closed()

    with asyncio.Runner() as one, asyncio.Runner() as other:
        first, second = one.run(send(1)), other.run(send(2))
        one.run(leave(first))
        other.run(leave(second))

    assert [message.connection for message in smtp_server.messages] == [1, 2]


@FORKS
def test_a_forked_child_has_connections_of_its_own(smtp_server: ScriptedSmtp) -> None:
    """Even when it goes on with the event loop that it was born with: two processes never speak on one connection."""
    transport = SmtpTransport(f"{smtp_server.url}?{QUICK}&connections=1")
    with asyncio.Runner() as runner:
        runner.run(transport.send(letter(1)))
        exit_code = in_child(lambda: runner.run(transport.send(letter(2))))
        runner.run(transport.send(letter(3)))
        runner.run(transport.close())

    assert exit_code == 0
    assert [(message.message_id, message.connection) for message in smtp_server.messages] == [
        (message_id(1), 1),
        (message_id(2), 2),
        (message_id(3), 1),
    ]


@FORKS
def test_a_forked_child_does_not_wait_for_the_connections_that_its_parent_has_taken(smtp_server: ScriptedSmtp) -> None:
    smtp_server.script(at="dot", argument=message_id(1), stall=True)
    transport = SmtpTransport(f"{smtp_server.url}?{QUICK}&connections=1")
    elsewhere = BackgroundLoop("parent")
    try:
        elsewhere.call(lambda: asyncio.ensure_future(transport.send(letter(1))))
        smtp_server.wait_until(lambda: len(smtp_server.messages) == 1)
        exit_code = in_child(lambda: asyncio.run(asyncio.wait_for(transport.send(letter(2)), 20)))
    finally:
        elsewhere.stop()

    assert exit_code == 0
    assert [(message.message_id, message.connection) for message in smtp_server.messages] == [
        (message_id(1), 1),
        (message_id(2), 2),
    ]


def test_a_ca_file_that_cannot_be_read_is_a_matter_of_settings() -> None:
    with pytest.raises(ConfigurationError, match="cannot read certificates from '/nowhere/ca"):
        SmtpTransport("smtps://mail.example.org?ca=/nowhere/ca.pem")

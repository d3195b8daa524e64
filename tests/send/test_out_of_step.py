"""A server that refuses what it offered, or has lost the thread, costs no email: the same is said again, with less."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from postroom.send.contract import FaultKind, Phase, Report
from postroom.send.script import Moment
from postroom.send.smtp import SmtpTransport
from postroom.testing import ScriptedSmtp
from tests.send.letters import ADA, BOB, letter, message_id

Connect = Callable[..., SmtpTransport]

OFFERED = ("SIZE 26214400", "8BITMIME", "SMTPUTF8", "DSN")
BOTH = pytest.mark.parametrize("extensions", [(*OFFERED, "PIPELINING"), OFFERED], ids=["pipelined", "in turn"])
REFUSALS = ["555 5.5.4 unsupported option", "501 5.5.4 syntax error in parameters", "504 parameter not implemented"]


def mails(server: ScriptedSmtp) -> list[str]:
    return [command for command in server.commands if command.startswith("MAIL")]


def with_parameters(moment: Moment) -> bool:
    return bool(moment.parameters)


def accepted(report: Report) -> bool:
    return report.reply is not None and report.reply.phase is Phase.DOT and report.reply.code == 250


# ---------------------------------------------------------------- parameters


@BOTH
@pytest.mark.parametrize("refusal", REFUSALS)
async def test_a_refused_parameter_is_left_out_for_the_rest_of_the_session(
    connect: Connect, extensions: tuple[str, ...], refusal: str
) -> None:
    with ScriptedSmtp(extensions=extensions) as server:
        server.script(at="mail", reply=refusal, when=with_parameters)
        transport = connect(server.url, "dsn=yes")
        reports = [await transport.send(letter(number)) for number in range(3)]

        assert all(map(accepted, reports))
        assert [bool(command.partition("> ")[2]) for command in mails(server)] == [True, False, False, False]
        assert server.connections == 1
        assert server.violations == []


@BOTH
async def test_a_refused_parameter_is_remembered_for_later_sessions(
    connect: Connect, extensions: tuple[str, ...]
) -> None:
    with ScriptedSmtp(extensions=extensions) as server:
        server.script(at="mail", reply=REFUSALS[0], when=with_parameters)
        transport = connect(server.url, "dsn=yes&emails_per_connection=1")
        reports = [await transport.send(letter(number)) for number in range(3)]

        assert all(map(accepted, reports))
        assert len(mails(server)) == 4
        assert server.connections == 3


async def test_an_email_behind_the_dot_of_another_loses_nothing_by_a_refused_parameter(connect: Connect) -> None:
    with ScriptedSmtp(extensions=(*OFFERED, "PIPELINING")) as server:
        server.script(
            at="mail", reply=REFUSALS[0], when=lambda moment: bool(moment.parameters) and len(mails(server)) > 1
        )
        async with connect(server.url).connection() as line:
            first, second = letter(1), letter(2)
            reports = [await line.deliver(first, following=second), await line.deliver(second)]

        assert all(map(accepted, reports))
        assert server.copies(message_id(1)) == server.copies(message_id(2)) == 1


async def test_a_server_that_waits_for_a_message_it_has_refused_is_asked_anew(connect: Connect) -> None:
    """It says 555 to MAIL and 354 to the DATA behind it: nothing may be sent there any more."""
    with ScriptedSmtp(extensions=(*OFFERED, "PIPELINING")) as server:
        server.script(at="mail", reply=b"555 no\r\n250 Ok\r\n354 go ahead\r\n", when=with_parameters, stall=True)
        report = await connect(server.url).send(letter(1))

        assert accepted(report)
        assert server.connections == 2
        assert server.copies(message_id(1)) == 1


@BOTH
async def test_what_a_message_cannot_do_without_is_kept(connect: Connect, extensions: tuple[str, ...]) -> None:
    with ScriptedSmtp(extensions=extensions) as server:
        server.script(at="mail", reply=REFUSALS[0], when=lambda moment: "SIZE" in moment.parameters)
        report = await connect(server.url).send(replace(letter(1, "jürgen@example.org"), smtputf8=True))

        assert accepted(report)
        assert mails(server)[-1].endswith("> SMTPUTF8")


@BOTH
async def test_a_refusal_that_has_another_reason_stands_and_teaches_nothing(
    connect: Connect, extensions: tuple[str, ...]
) -> None:
    with ScriptedSmtp(extensions=extensions) as server:
        server.script(at="mail", reply="555 5.5.4 never", times=2)
        transport = connect(server.url)
        refused, sent = await transport.send(letter(1)), await transport.send(letter(2))

        assert refused.reply is not None
        assert (refused.reply.phase, refused.reply.code) == (Phase.MAIL, 555)
        assert accepted(sent)
        assert "SIZE=" in mails(server)[-1]


# ---------------------------------------------------------------- sessions


@BOTH
async def test_a_session_that_is_out_of_step_is_replaced_and_the_email_leaves(
    connect: Connect, extensions: tuple[str, ...]
) -> None:
    with ScriptedSmtp(extensions=extensions) as server:
        server.script(
            at="mail", reply="503 5.5.1 nested MAIL command", when=lambda moment: moment.connection == 1, times=1
        )
        transport = connect(server.url)
        reports = [await transport.send(letter(number)) for number in (1, 2)]

        assert all(map(accepted, reports))
        assert server.connections == 2
        assert sum(server.copies_of_all().values()) == 2


async def test_a_reused_session_that_is_out_of_step_is_replaced(connect: Connect) -> None:
    with ScriptedSmtp() as server:
        server.script(at="mail", reply="503 5.5.1 nested MAIL command", when=lambda _: len(mails(server)) == 2, times=1)
        async with connect(server.url).connection() as line:
            first, second, third = letter(1), letter(2), letter(3)
            reports = [
                await line.deliver(first, following=second),
                await line.deliver(second, following=third),
                await line.deliver(third),
            ]

        assert all(map(accepted, reports))
        assert server.connections == 2
        assert set(server.copies_of_all().values()) == {1}


async def test_a_server_that_is_always_out_of_step_is_asked_twice_and_not_for_ever(connect: Connect) -> None:
    with ScriptedSmtp() as server:
        server.script(at="mail", reply="503 5.5.1 nested MAIL command")
        report = await connect(server.url).send(letter(1))

        assert report.reply is not None
        assert report.reply.code == 503
        assert not report.dot_left
        assert server.connections == 2


# ---------------------------------------------------------------- time and space


@pytest.mark.parametrize("extensions", [("PIPELINING",), ()], ids=["pipelined", "in turn"])
async def test_many_recipients_do_not_stretch_the_limit_to_as_many_times_its_length(
    connect: Connect, extensions: tuple[str, ...]
) -> None:
    """Each reply is complete within its limit, and all of them together take far longer than any honest server."""
    with ScriptedSmtp(extensions=extensions) as server:
        server.script(at="rcpt", delay=1.0)
        report = await connect(server.url, "command=2s").send(letter(1, *(f"p{n}@example.org" for n in range(12))))

        assert report.fault is not None
        assert (report.fault.kind, report.fault.phase) == (FaultKind.TIMEOUT, Phase.RCPT)
        assert None in report.recipients


@pytest.mark.parametrize("at", ["ehlo", "rcpt", "dot"])
async def test_a_reply_whose_lines_drip_ends_with_its_limit(connect: Connect, at: str) -> None:
    limit = {"ehlo": "command", "rcpt": "command", "dot": "dot"}[at]
    with ScriptedSmtp() as server:
        server.script(at=at, reply="\r\n".join(["250-still here"] * 100), drip=0.01)  # type: ignore[arg-type]
        report = await connect(server.url, f"{limit}=500ms").send(letter(1, ADA, BOB))

        assert report.fault is not None
        assert report.fault.kind is FaultKind.TIMEOUT

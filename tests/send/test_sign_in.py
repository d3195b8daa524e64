"""A wrong password is tried once or twice, however many lines there are: accounts are locked by less."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from postroom.send.contract import Phase, Report
from postroom.send.smtp import SmtpTransport
from postroom.testing import ScriptedSmtp
from tests.send.letters import letter

Connect = Callable[..., SmtpTransport]

OPTIONS = "insecure_auth=yes&connections=30"


def signed(server: ScriptedSmtp, password: str) -> str:
    return server.url.replace("://", f"://app:{password}@")


def tries(server: ScriptedSmtp) -> int:
    return sum(command.startswith("AUTH") for command in server.commands)


async def send_at_once(transport: SmtpTransport, count: int) -> list[Report]:
    return await asyncio.gather(*(transport.send(letter(number)) for number in range(count)))


@pytest.mark.parametrize("delay", [0.0, 0.3], ids=["at once", "slowly"])
@pytest.mark.parametrize("mechanism", ["plain", "login", "xoauth2"])
async def test_thirty_lines_try_a_wrong_password_once(connect: Connect, delay: float, mechanism: str) -> None:
    with ScriptedSmtp(users={"app": "right"}) as server:
        server.script(at="auth", delay=delay)
        reports = await send_at_once(connect(signed(server, "wrong"), f"{OPTIONS}&auth={mechanism}"), 30)

        assert {report.reply and (report.reply.phase, report.reply.code) for report in reports} == {(Phase.AUTH, 535)}
        assert tries(server) == 1


async def test_thirty_lines_sign_in_with_the_right_password(connect: Connect) -> None:
    with ScriptedSmtp(users={"app": "right"}) as server:
        server.script(at="dot", delay=0.5)
        reports = await send_at_once(connect(signed(server, "right"), OPTIONS), 30)

        assert {report.reply and report.reply.code for report in reports} == {250}
        assert tries(server) == server.connections == 30


async def test_a_password_that_has_become_wrong_is_tried_twice_at_most(connect: Connect) -> None:
    with ScriptedSmtp(users={"app": "right"}) as server:
        server.script(at="dot", delay=0.2)
        transport = connect(signed(server, "right"), f"{OPTIONS}&emails_per_connection=1")
        await send_at_once(transport, 30)
        server.clear_script()
        server.script(at="auth", reply="535 5.7.8 changed this morning", delay=0.2)
        server.forget()
        reports = await send_at_once(transport, 30)

        assert {report.reply and report.reply.code for report in reports} == {535}
        assert tries(server) <= 2


async def test_after_a_refusal_the_next_one_asks_again_and_all_is_well(connect: Connect) -> None:
    with ScriptedSmtp(users={"app": "right"}) as server:
        server.script(at="auth", reply="535 5.7.8 not yet", times=1)
        transport = connect(signed(server, "right"), OPTIONS)
        await send_at_once(transport, 10)
        probed = await transport.probe()
        reports = await send_at_once(transport, 10)

        assert probed.reply is not None
        assert probed.reply.code == 235
        assert {report.reply and report.reply.code for report in reports} == {250}


async def test_a_cut_while_signing_in_is_nobody_elses(connect: Connect) -> None:
    with ScriptedSmtp(users={"app": "right"}) as server:
        server.script(at="auth", cut=True, times=1)
        reports = await send_at_once(connect(signed(server, "right"), OPTIONS), 10)

        assert sum(report.fault is not None for report in reports) == 1
        assert sum(report.reply is not None and report.reply.code == 250 for report in reports) == 9


async def test_whoever_gives_up_waiting_holds_up_nobody(connect: Connect) -> None:
    with ScriptedSmtp(users={"app": "right"}) as server:
        server.script(at="auth", delay=0.5, times=1)
        transport = connect(signed(server, "right"), OPTIONS)
        tasks = [asyncio.create_task(transport.send(letter(number))) for number in range(6)]
        await asyncio.to_thread(server.wait_until, lambda: tries(server) == 1)
        for task in tasks[::2]:
            task.cancel()
        done = await asyncio.gather(*tasks, return_exceptions=True)

        assert [isinstance(each, Report) for each in done] == [False, True] * 3
        assert len(server.messages) == 3

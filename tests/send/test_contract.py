"""What every transport promises. A new one earns its place by passing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import pytest

from postroom.send.contract import FaultKind, Phase, Transport
from postroom.send.memory import MemoryTransport
from postroom.testing import ScriptedSmtp
from tests.send.letters import ADA, BOB, EVE, letter


class Stage(Protocol):
    """A transport, the script of its far end, and what arrived there."""

    transport: Transport
    script: Callable[..., None]

    def arrived(self) -> list[tuple[tuple[str, ...], bytes]]: ...


class OnSmtp:
    def __init__(self, server: ScriptedSmtp, transport: Transport) -> None:
        self.transport = transport
        self.script = server.script
        self._server = server

    def arrived(self) -> list[tuple[tuple[str, ...], bytes]]:
        return [(message.recipients, message.data) for message in self._server.messages]


class InMemory:
    def __init__(self) -> None:
        self.transport = self._memory = MemoryTransport()
        self.script = self._memory.script

    def arrived(self) -> list[tuple[tuple[str, ...], bytes]]:
        return [(envelope.recipients, envelope.message) for envelope in self._memory.sent]


@pytest.fixture(params=["pipelined", "in turn", "memory"])
def stage(request: pytest.FixtureRequest, connect: Callable[..., Any]) -> Iterator[Stage]:
    if request.param == "memory":
        yield InMemory()
        return
    extensions = ("PIPELINING", "SIZE 1000000") if request.param == "pipelined" else ("SIZE 1000000",)
    with ScriptedSmtp(extensions=extensions) as server:
        yield OnSmtp(server, connect(server.url))


async def test_an_accepted_email_arrives_as_it_was_given(stage: Stage) -> None:
    report = await stage.transport.send(letter(1, ADA, BOB))

    assert stage.arrived() == [((ADA, BOB), letter(1).message)]
    assert report.reply is not None
    assert (report.reply.phase, report.reply.code, report.fault) == (Phase.DOT, 250, None)
    assert [reply and reply.code for reply in report.recipients] == [250, 250]
    assert report.dot_left
    assert report.capabilities_known


async def test_each_recipient_keeps_what_was_said_to_it(stage: Stage) -> None:
    stage.script(at="rcpt", argument=ADA, reply="550 5.1.1 no such user")
    stage.script(at="rcpt", argument=EVE, reply="450 4.2.1 busy")
    report = await stage.transport.send(letter(1, ADA, BOB, EVE))

    assert [reply and (reply.code, reply.enhanced, reply.phase) for reply in report.recipients] == [
        (550, "5.1.1", Phase.RCPT),
        (250, "2.1.5", Phase.RCPT),
        (450, "4.2.1", Phase.RCPT),
    ]
    assert report.reply is not None
    assert report.reply.code == 250
    assert stage.arrived() == [((BOB,), letter(1).message)]


async def test_with_no_recipient_accepted_nothing_is_sent(stage: Stage) -> None:
    stage.script(at="rcpt", reply="550 5.1.1 no such user")
    report = await stage.transport.send(letter(1, ADA, BOB))

    assert [reply and reply.code for reply in report.recipients] == [550, 550]
    assert (report.reply, report.fault, report.dot_left) == (None, None, False)
    assert stage.arrived() == []


@pytest.mark.parametrize("code", [421, 451, 554])
@pytest.mark.parametrize("at", ["mail", "data", "dot"])
async def test_a_refusal_is_reported_with_its_phase(stage: Stage, at: str, code: int) -> None:
    """421 on a fresh connection is no reason to try another."""
    stage.script(at=at, reply=f"{code} {code // 100}.3.0 no")
    report = await stage.transport.send(letter())

    assert report.reply is not None
    assert (report.reply.phase.value, report.reply.code, report.reply.text) == (at, code, "no")
    assert report.fault is None
    assert report.dot_left == (at == "dot")
    assert stage.arrived() == []


async def test_an_abandoned_email_is_not_sent(stage: Stage) -> None:
    """The last look at the lease decides, however far the upload has come (A5)."""
    report = await stage.transport.send(letter(), before_dot=lambda: False)

    assert report.fault is not None
    assert (report.fault.kind, report.dot_left, report.reply) == (FaultKind.ABANDONED, False, None)
    assert stage.arrived() == []


async def test_permission_is_asked_once_and_after_the_recipients_were_accepted(stage: Stage) -> None:
    asked = []
    stage.script(at="rcpt", argument=EVE, reply="550 no")
    await stage.transport.send(letter(1, EVE), before_dot=lambda: bool(asked.append("refused")) or True)
    await stage.transport.send(letter(2, ADA), before_dot=lambda: bool(asked.append("accepted")) or True)

    assert asked == ["accepted"]


async def test_a_reply_to_the_dot_that_never_comes_leaves_the_fate_open(stage: Stage) -> None:
    stage.script(at="dot", cut=True)
    report = await stage.transport.send(letter())

    assert report.fault is not None
    assert (report.fault.phase, report.fault.kind) == (Phase.DOT, FaultKind.CUT)
    assert (report.reply, report.dot_left) == (None, True)
    assert len(stage.arrived()) == 1


async def test_a_failure_does_not_reach_the_next_email(stage: Stage) -> None:
    for at in ("rcpt", "mail", "data", "dot"):
        stage.script(at=at, reply="554 5.0.0 no", times=1)
        await stage.transport.send(letter(1, EVE))
    stage.script(at="dot", cut=True, accept=False, times=1)
    await stage.transport.send(letter(1, EVE))
    report = await stage.transport.send(letter(2, ADA))

    assert report.reply is not None
    assert report.reply.code == 250
    assert stage.arrived() == [((ADA,), letter(2).message)]


async def test_many_at_once_arrive_once_each(stage: Stage) -> None:
    reports = await asyncio.gather(*(stage.transport.send(letter(number)) for number in range(60)))

    assert [report.reply and report.reply.code for report in reports] == [250] * 60
    assert sorted(data for _, data in stage.arrived()) == sorted(letter(number).message for number in range(60))


async def test_closing_twice_is_harmless(stage: Stage) -> None:
    await stage.transport.send(letter())
    await stage.transport.close()
    await stage.transport.close()

    assert len(stage.arrived()) == 1

"""What every transport promises. A new one earns its place by passing."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from postroom.send.contract import FaultKind, LastLook, Phase
from postroom.testing import ScriptedHttp, ScriptedSmtp
from tests.send.letters import ADA, BOB, EVE, letter
from tests.send.stages import Holding, InMemory, OverSmtp, Stage, Texts, Webhooks, contents

SMTP = ("pipelined", "in turn")
HTTP = ("webhook", "webhook over TLS", "sms")


@pytest.fixture
def build(connect: Callable[..., Any], server_tls: ssl.SSLContext, ca_file: Path) -> Callable[[str], Any]:
    """The stage of a name, for as long as it is used."""

    @contextmanager
    def over_smtp(*extensions: str) -> Iterator[OverSmtp]:
        with ScriptedSmtp(extensions=(*extensions, "SIZE 1000000")) as server:
            yield OverSmtp(server, connect(server.url))

    @contextmanager
    def in_memory() -> Iterator[InMemory]:
        yield InMemory()

    @contextmanager
    def webhooks(tls: ssl.SSLContext | None, ca: str | None) -> Iterator[Webhooks]:
        with ScriptedHttp(tls=tls) as server:
            yield Webhooks(server, ca=ca)

    @contextmanager
    def texts() -> Iterator[Texts]:
        with ScriptedHttp() as server:
            yield Texts(server)

    return {
        "pipelined": lambda: over_smtp("PIPELINING"),
        "in turn": over_smtp,
        "memory": in_memory,
        "webhook": lambda: webhooks(None, None),
        "webhook over TLS": lambda: webhooks(server_tls, str(ca_file)),
        "sms": texts,
    }.__getitem__


@pytest.fixture(params=[*SMTP, "memory", *HTTP])
async def stage(request: pytest.FixtureRequest, build: Callable[[str], Any]) -> Any:
    """Any transport."""
    with build(request.param)() as built:
        yield built


@pytest.fixture(params=[*SMTP, *HTTP])
async def holding(request: pytest.FixtureRequest, build: Callable[[str], Any]) -> Any:
    """Those on whom time passes: the far end can keep them waiting."""
    with build(request.param)() as built:
        yield built


@pytest.fixture(params=[*SMTP, "memory", "sms"])
async def asked(request: pytest.FixtureRequest, build: Callable[[str], Any]) -> Any:
    """Those with a far end of their own, which can be asked how it is."""
    with build(request.param)() as built:
        yield built


@pytest.fixture(params=[*SMTP, "memory"])
async def shared(request: pytest.FixtureRequest, build: Callable[[str], Any]) -> Any:
    """Those that carry one payload to several, each of whom is answered for."""
    with build(request.param)() as built:
        yield built


async def test_an_accepted_payload_arrives_as_it_was_given(stage: Stage) -> None:
    payload = stage.payload()
    report = await stage.transport.send(payload)

    assert stage.arrived() == [(payload.recipients, stage.content())]
    assert report.reply is not None
    assert (report.reply.phase, report.reply.code // 100, report.fault) == (stage.end, 2, None)
    assert [reply and reply.code // 100 for reply in report.recipients] == [2]
    assert report.dot_left
    assert report.capabilities_known


async def test_a_refusal_is_reported_with_its_phase(stage: Stage) -> None:
    """421 on a fresh connection is no reason to try another."""
    for at in stage.refusing:
        for code in stage.codes:
            stage.refuse(at, code, times=1)
            report = await stage.transport.send(stage.payload())

            assert report.reply is not None
            assert (report.reply.phase, report.reply.code, report.reply.text[-4:].strip('"}')) == (at, code, "no")
            assert report.fault is None
            assert report.dot_left == (at is stage.end)
    assert stage.arrived() == []


async def test_an_abandoned_payload_is_not_sent(stage: Stage) -> None:
    """The last look at the lease decides, however far the upload has come (A5)."""
    report = await stage.transport.send(stage.payload(), before_dot=lambda: False)

    assert report.fault is not None
    assert (report.fault.kind, report.dot_left, report.reply) == (FaultKind.ABANDONED, False, None)
    assert stage.arrived() == []


async def test_permission_is_asked_once(stage: Stage) -> None:
    asked: list[str] = []
    await stage.transport.send(stage.payload(), before_dot=lambda: bool(asked.append("asked")) or True)

    assert asked == ["asked"]
    assert len(stage.arrived()) == 1


class Looking(LastLook):
    """A question that has to be looked into; it writes down what it was asked."""

    def __init__(self, answer: bool) -> None:
        self.answer = answer
        self.asked: list[str] = []

    async def look(self) -> None:
        await asyncio.sleep(0)
        self.asked.append("looked")

    def __call__(self) -> bool:
        self.asked.append("answered")
        return self.answer


@pytest.mark.parametrize("answer", [True, False])
async def test_a_question_that_has_to_be_looked_into_is_given_the_time(stage: Stage, answer: bool) -> None:
    question = Looking(answer)
    report = await stage.transport.send(stage.payload(), before_dot=question)

    assert question.asked == ["looked", "answered"]
    assert (report.dot_left, len(stage.arrived())) == (answer, int(answer))
    assert (report.fault is not None and report.fault.kind is FaultKind.ABANDONED) is not answer


async def test_an_answer_that_never_comes_leaves_the_fate_open(stage: Stage) -> None:
    stage.lose_answer()
    report = await stage.transport.send(stage.payload())

    assert report.fault is not None
    assert (report.fault.phase, report.fault.kind) == (stage.end, FaultKind.CUT)
    assert (report.reply, report.dot_left) == (None, True)
    assert len(stage.arrived()) == 1


async def test_a_failure_does_not_reach_the_next_payload(stage: Stage) -> None:
    for at in stage.refusing:
        stage.refuse(at, stage.codes[-1], times=1)
        await stage.transport.send(stage.payload(1))
    stage.lose_answer(times=1)
    await stage.transport.send(stage.payload(2))
    report = await stage.transport.send(stage.payload(3))

    assert report.reply is not None
    assert report.reply.code // 100 == 2
    assert [content for _, content in stage.arrived()] == [stage.content(2), stage.content(3)]


async def test_many_at_once_arrive_once_each(stage: Stage) -> None:
    reports = await asyncio.gather(*(stage.transport.send(stage.payload(number)) for number in range(60)))

    assert [report.reply and report.reply.code // 100 for report in reports] == [2] * 60
    assert contents(stage.arrived()) == sorted(stage.content(number) for number in range(60))


async def test_cancelled_before_the_dot_nothing_arrives(holding: Holding) -> None:
    asked: list[str] = []
    payload = holding.payload()
    hold = asyncio.ensure_future(holding.held())
    await asyncio.sleep(0)
    sending = asyncio.ensure_future(holding.transport.send(payload, before_dot=lambda: bool(asked.append("")) or True))
    await hold
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending

    assert asked == []
    assert holding.arrived() == []


async def test_a_probe_sends_nothing_and_finds_all_well(stage: Stage) -> None:
    report = await stage.transport.probe()

    assert (report.fault, report.recipients) == (None, ())
    assert report.reply is None or report.reply.code < 400
    assert stage.arrived() == []


async def test_a_probe_tells_of_an_outage(asked: Stage) -> None:
    asked.outage()
    report = await asked.transport.probe()

    assert report.fault is not None or (report.reply is not None and report.reply.code >= 400)
    assert asked.arrived() == []


async def test_closing_twice_is_harmless(stage: Stage) -> None:
    await stage.transport.send(stage.payload())
    await stage.transport.close()
    await stage.transport.close()

    assert len(stage.arrived()) == 1


async def test_each_recipient_keeps_what_was_said_to_it(shared: OverSmtp) -> None:
    shared.script(at="rcpt", argument=ADA, reply="550 5.1.1 no such user")
    shared.script(at="rcpt", argument=EVE, reply="450 4.2.1 busy")
    report = await shared.transport.send(letter(1, ADA, BOB, EVE))  # type: ignore[attr-defined]

    assert [reply and (reply.code, reply.enhanced, reply.phase) for reply in report.recipients] == [
        (550, "5.1.1", Phase.RCPT),
        (250, "2.1.5", Phase.RCPT),
        (450, "4.2.1", Phase.RCPT),
    ]
    assert report.reply is not None
    assert report.reply.code == 250
    assert shared.arrived() == [((BOB,), letter(1).message)]


async def test_with_no_recipient_accepted_nothing_is_sent(shared: OverSmtp) -> None:
    shared.script(at="rcpt", reply="550 5.1.1 no such user")
    asked: list[str] = []
    report = await shared.transport.send(  # type: ignore[attr-defined]
        letter(1, ADA, BOB), before_dot=lambda: bool(asked.append("asked")) or True
    )

    assert [reply and reply.code for reply in report.recipients] == [550, 550]
    assert (report.reply, report.fault, report.dot_left) == (None, None, False)
    assert shared.arrived() == []
    assert asked == []

"""What the in-memory transport adds to the contract."""

from __future__ import annotations

import pytest

from postroom.send.contract import FaultKind, Phase
from postroom.send.memory import MemoryTransport
from tests.send.letters import ADA, letter


async def test_what_was_accepted_is_kept(memory_transport: MemoryTransport) -> None:
    await memory_transport.send(letter(1))

    assert [envelope.recipients for envelope in memory_transport.sent] == [(ADA,)]
    assert memory_transport.attempts == 1


@pytest.mark.parametrize(
    ("at", "kind", "phase", "greeted"),
    [
        ("connect", FaultKind.REFUSED, Phase.CONNECT, False),
        ("greeting", FaultKind.CUT, Phase.GREETING, False),
        ("auth", FaultKind.CUT, Phase.AUTH, True),
    ],
)
async def test_an_outage_can_be_played(
    memory_transport: MemoryTransport, at: str, kind: FaultKind, phase: Phase, greeted: bool
) -> None:
    memory_transport.script(at=at, cut=True, times=1)  # type: ignore[arg-type]
    during, after = await memory_transport.send(letter(1)), await memory_transport.send(letter(1))

    assert during.fault is not None
    assert (during.fault.kind, during.fault.phase, during.capabilities_known) == (kind, phase, greeted)
    assert after.reply is not None
    assert after.reply.code == 250


async def test_a_stall_is_a_timeout_at_once(memory_transport: MemoryTransport) -> None:
    memory_transport.script(at="dot", stall=True)
    report = await memory_transport.send(letter(1))

    assert report.fault is not None
    assert (report.fault.kind, report.dot_left) == (FaultKind.TIMEOUT, True)


async def test_the_script_can_be_forgotten(memory_transport: MemoryTransport) -> None:
    memory_transport.script(at="mail", reply="550 no")
    memory_transport.clear_script()
    report = await memory_transport.send(letter(1))

    assert report.reply is not None
    assert report.reply.code == 250


def test_a_moment_that_a_transport_in_memory_does_not_have_is_refused(memory_transport: MemoryTransport) -> None:
    with pytest.raises(ValueError, match="nothing is scripted at 'starttls'"):
        memory_transport.script(at="starttls")

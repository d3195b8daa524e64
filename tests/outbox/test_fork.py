"""An outbox that was used before a fork: every process has connections, threads and a journal of its own (A1)."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from postroom import Email, Status
from postroom.testing import ScriptedSmtp
from tests.outbox.shells import Awaited

LETTER = Email(to="ada@example.org", subject="Booked", text="See you on Friday.")


def forked(work: Callable[[], bool]) -> int:
    """A child that does this and ends; what it ends with says whether it went well."""
    child = os.fork()
    if child:
        return child
    well = False
    try:
        well = work()
    except BaseException:  # noqa: BLE001  whatever it is, a child must end here
        traceback.print_exc()
    finally:
        os._exit(0 if well else 1)


def ended_well(child: int) -> bool:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def inner(outbox: Any) -> Any:
    """The outbox itself: a child has no thread for the loop of the test's own."""
    return outbox.outbox if isinstance(outbox, Awaited) else outbox


def test_children_and_parent_go_on_sending_each_by_itself(
    make_outbox: Callable[..., Any], server: ScriptedSmtp, journals: Path
) -> None:
    outbox = make_outbox(smtp=server.url)
    assert outbox.send(LETTER).sent
    outbox = inner(outbox)

    children = [forked(lambda: _send_some(outbox)) for _ in range(3)]

    assert _send_some(outbox)
    assert [ended_well(child) for child in children] == [True] * 3
    again = make_outbox()
    assert again.counts()["sent"] == 17
    assert set(server.copies_of_all().values()) == {1}
    assert len(server.messages) == 17


def _send_some(outbox: Any) -> bool:
    import asyncio

    from postroom import Outbox

    if isinstance(outbox, Outbox):
        return all(outbox.send(LETTER).sent for _ in range(4))
    return asyncio.run(_send_some_awaited(outbox))


async def _send_some_awaited(outbox: Any) -> bool:
    return all([(await outbox.send(LETTER)).sent for _ in range(4)])


def test_a_fork_in_the_middle_of_a_send_leaves_that_to_the_parent(
    make_outbox: Callable[..., Any], server: ScriptedSmtp
) -> None:
    outbox = make_outbox(smtp=server.url)
    server.script(at="dot", delay=0.5, times=1)
    begun = outbox.send_soon(LETTER)
    server.wait_for(1)

    child = forked(lambda: True)  # it ends at once, and takes nothing with it

    assert ended_well(child)
    outbox.close()
    stored = make_outbox().get(begun.id)
    assert (stored.status, stored.doubts) == (Status.SENT, 0)
    assert server.copies(stored.message_id) == 1


def test_a_child_that_closes_its_outbox_closes_nothing_of_its_parent(
    make_outbox: Callable[..., Any], server: ScriptedSmtp
) -> None:
    outbox = make_outbox(smtp=server.url)
    outbox.send(LETTER)
    shell = inner(outbox)

    child = forked(lambda: shell._inline.close() is None)

    assert ended_well(child)
    assert outbox.send(LETTER).sent
    assert server.connections == 1

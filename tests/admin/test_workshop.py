"""Long work is done beside the event loop, a few pieces at once."""

from __future__ import annotations

import asyncio
import os
import threading

import pytest
from starlette.exceptions import HTTPException

from postroom.admin.workshop import AT_ONCE, MOST_WAITING, Workshop


async def test_so_much_is_done_at_once_and_so_much_waits() -> None:
    workshop, go_on = Workshop(), threading.Event()
    begun = threading.Semaphore(0)

    def work() -> int:
        begun.release()
        go_on.wait()
        return threading.get_ident()

    waiting = [asyncio.create_task(workshop.do(work)) for _ in range(MOST_WAITING)]
    for _ in range(AT_ONCE):
        await asyncio.to_thread(begun.acquire)
    with pytest.raises(HTTPException) as refused:
        await workshop.do(work)
    go_on.set()
    threads = await asyncio.gather(*waiting)

    assert refused.value.status_code == 503
    assert len(set(threads)) <= AT_ONCE
    assert await workshop.do(lambda: "free again") == "free again"


def test_a_forked_child_has_a_workshop_of_its_own() -> None:
    workshop = Workshop()
    asyncio.run(workshop.do(int))
    child = os.fork()
    if child == 0:
        os._exit(asyncio.run(workshop.do(lambda: 7)))

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7

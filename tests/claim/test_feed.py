"""What feeds and services share: waiting for the first of several, and calling tasks off."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from postroom.claim import feed
from postroom.claim.feed import call_off, first_of


async def test_tasks_that_are_called_off_have_ended() -> None:
    tasks = [asyncio.create_task(asyncio.Event().wait()) for _ in range(3)]
    await call_off(tasks)

    assert all(task.cancelled() for task in tasks)


async def test_a_task_that_loses_its_cancellation_is_told_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a connection pool may, on Python 3.11; a worker would never stop."""
    monkeypatch.setattr(feed, "CALL_AGAIN", 0.01)
    begun = asyncio.Event()

    async def hard_of_hearing() -> None:
        for _ in range(2):
            with suppress(asyncio.CancelledError):
                begun.set()
                await asyncio.Event().wait()
        await asyncio.Event().wait()

    task = asyncio.create_task(hard_of_hearing())
    await begun.wait()
    await call_off([task])

    assert task.cancelled()


async def test_a_task_that_fails_while_it_is_called_off_has_ended_too() -> None:
    async def fails() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise ValueError("on the way out")

    task = asyncio.create_task(fails())
    await asyncio.sleep(0)
    await call_off([task])

    assert isinstance(task.exception(), ValueError)


async def test_the_first_of_several_ends_the_wait() -> None:
    happened, never = asyncio.Event(), asyncio.Event()
    asyncio.get_running_loop().call_soon(happened.set)
    await first_of(never.wait(), happened.wait())

    assert happened.is_set()
    assert not never.is_set()

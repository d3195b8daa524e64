"""The thread behind SQLite in event loops: what was asked for is done, whoever waits, also when Python ends."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from postroom import AsyncOutbox, Outbox
from postroom.errors import StoreUnavailable
from postroom.store.sqlite.thread import WorkThread
from tests.store.journey import email

AT_EXIT = """
import asyncio, atexit, sys
from postroom import AsyncOutbox, Email

outbox = AsyncOutbox(sys.argv[1])
email = Email(to="ada@example.org", subject="At the end", text="Good night.")

async def work():
    await outbox.enqueue(email)

async def work_in_a_transaction():
    async with outbox.transaction() as connection:
        await outbox.enqueue(email, connection=connection)

async def last_words():
    await work()
    await work_in_a_transaction()
    await outbox.close()

asyncio.run(work())
atexit.register(lambda: asyncio.run(last_words()))
"""


def test_work_can_be_brought_to_an_end_when_python_ends(migrated_sqlite_url: str, tmp_path: Path) -> None:
    """Executors of the standard library refuse by then."""
    ended = subprocess.run(
        [sys.executable, "-c", AT_EXIT, migrated_sqlite_url], capture_output=True, text=True, timeout=60, check=False
    )
    with Outbox(migrated_sqlite_url) as outbox:
        assert (ended.returncode, ended.stderr) == (0, "")
        assert outbox.counts()["pending"] == 3


async def test_work_whose_asker_is_gone_is_done_to_its_end() -> None:
    thread, begun, go_on, done = WorkThread("test"), threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        go_on.wait()
        done.set()

    first = asyncio.create_task(thread.run(work))
    behind = threading.Event()
    second = asyncio.create_task(thread.run(behind.set))
    await asyncio.to_thread(begun.wait)
    for task in (first, second):
        task.cancel()
    await asyncio.gather(first, second, return_exceptions=True)
    go_on.set()
    await thread.run(lambda: None)
    thread.close()

    assert first.cancelled()
    assert done.is_set()
    assert behind.is_set()


async def test_an_enqueue_that_nobody_waits_for_any_more_is_whole_or_not_there(migrated_sqlite_url: str) -> None:
    async with AsyncOutbox(migrated_sqlite_url) as outbox:
        for number in range(30):
            task = asyncio.create_task(outbox.enqueue(email(f"Email {number}"), key=f"key {number}"))
            await asyncio.sleep(0.0001 * number)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        found = (await outbox.list(limit=100)).emails
        again = [await outbox.enqueue(email(each.subject), key=each.key) for each in found]

        assert all(receipt.duplicate for receipt in again)
        assert (await outbox.conservation()).holds


async def test_a_transaction_whose_beginning_nobody_waits_for_any_more_locks_nobody_out(
    migrated_sqlite_url: str,
) -> None:
    with Outbox(migrated_sqlite_url) as other:
        async with AsyncOutbox(migrated_sqlite_url) as outbox:

            async def begin() -> None:
                async with outbox.transaction():
                    raise AssertionError("it was cancelled before it began")

            with other.transaction():  # holds the lock that the other one waits for
                task = asyncio.create_task(begin())
                await asyncio.sleep(0.05)
                task.cancel()
                await asyncio.sleep(0)
            await asyncio.gather(task, return_exceptions=True)
            receipt = await asyncio.to_thread(other.enqueue, email())

            assert task.cancelled()
            assert (await outbox.get(receipt.id)).subject == "Hi"


async def test_what_is_asked_after_the_close_is_refused() -> None:
    thread = WorkThread("test")
    await thread.run(lambda: None)
    thread.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await thread.run(lambda: None)

    assert thread.closed

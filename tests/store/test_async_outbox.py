"""`AsyncOutbox` has the verbs of `Outbox`, awaited: the same names, the same parameters, the same results."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator
from pathlib import Path
from threading import Thread
from typing import Any

import psutil
import pytest
import pytest_asyncio

from postroom import AsyncOutbox, Filter, Outbox, Status
from postroom.errors import EmailNotFound, NotApplicable, PostroomError
from postroom.store import claims
from postroom.store.contract import Claimed
from tests.store.journey import LEASE, Clock, dead, email, sent

VERBS = sorted(name for name, member in vars(Outbox).items() if not name.startswith("_") and inspect.isfunction(member))


@pytest_asyncio.fixture
async def async_outbox(store_url: str, clock: Clock) -> AsyncIterator[AsyncOutbox]:
    async with AsyncOutbox(store_url, clock=clock) as outbox:
        yield outbox


async def claim(outbox: AsyncOutbox) -> list[Claimed]:
    return await outbox.database.run(claims.claim(worker="w", lease=LEASE, urgent=10, normal=0, bulk=0))


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_its_twin_with_the_same_parameters(verb: str) -> None:
    assert parameters(getattr(Outbox, verb)) == parameters(getattr(AsyncOutbox, verb))


def parameters(verb: Any) -> list[tuple[Any, ...]]:
    """Name, kind, type and default of each; a function that is a default differs by identity alone."""
    found = inspect.signature(verb).parameters.values()
    return [
        (each.name, each.kind, each.annotation, type(each.default) if callable(each.default) else each.default)
        for each in found
    ]


def test_neither_has_a_verb_that_the_other_lacks() -> None:
    twins = {name for name, member in vars(AsyncOutbox).items() if not name.startswith("_") and callable(member)}

    assert twins == set(VERBS)


async def test_an_email_goes_its_whole_way(async_outbox: AsyncOutbox, clock: Clock, tmp_path: Path) -> None:
    outbox = async_outbox
    receipt = await outbox.enqueue(email("First"), key="k")
    again = await outbox.enqueue(email("First"), key="k")
    assert (again.id, again.duplicate, again.content_differs) == (receipt.id, True, False)
    assert (await outbox.get(receipt.id)).status is Status.PENDING
    assert (await outbox.letter(receipt.id)).subject == "First"
    assert await outbox.oldest_due() == clock.now

    [claimed] = await claim(outbox)
    await outbox.database.run(claims.settle([dead(claimed)]))
    assert [each.id for each in (await outbox.list(status="dead")).emails] == [receipt.id]
    assert await outbox.count(Filter(status=Status.DEAD)) == 1
    await outbox.retry(receipt.id, by="grace")
    await outbox.cancel(receipt.id)
    await outbox.replay(receipt.id, to="right@example.org", subject="Corrected")
    assert (await outbox.get(receipt.id)).recipients[0].address == "right@example.org"
    [claimed] = await claim(outbox)
    await outbox.database.run(claims.settle([sent(claimed)]))

    clock.advance(days=31)
    pruned = await outbox.prune(archive=tmp_path / "archive.jsonl")
    assert pruned.removed == 1
    assert "Corrected" in (tmp_path / "archive.jsonl").read_text()
    assert (await outbox.conservation()).holds
    assert (await outbox.counts())["pruned"] == 1


async def test_many_emails_enter_and_are_acted_on(async_outbox: AsyncOutbox) -> None:
    added = await async_outbox.enqueue_many((email(f"Email {number}") for number in range(700)), kind="news")
    cancelled = await async_outbox.act("cancel", Filter(kind="news"), limit=650)

    assert (added, cancelled) == (700, 650)
    assert (await async_outbox.counts())["pending"] == 50
    assert await async_outbox.enqueue_many([(email(), "a"), (email(), "a")]) == 1


async def test_refusals_are_the_same(async_outbox: AsyncOutbox) -> None:
    receipt = await async_outbox.enqueue(email())

    with pytest.raises(NotApplicable, match="it is pending"):
        await async_outbox.dismiss(receipt.id)
    with pytest.raises(EmailNotFound):
        await async_outbox.get("01900000-0000-7000-8000-000000000000")


async def test_a_transaction_commits_or_leaves_nothing_behind(async_outbox: AsyncOutbox) -> None:
    async with async_outbox.transaction() as connection:
        kept = await async_outbox.enqueue(email("Kept"), connection=connection)

    async def change_ones_mind() -> None:
        async with async_outbox.transaction() as connection:
            await async_outbox.enqueue(email("Never"), connection=connection)
            raise RuntimeError("changed my mind")

    with pytest.raises(RuntimeError, match="changed my mind"):
        await change_ones_mind()
    assert [each.id for each in (await async_outbox.list()).emails] == [kept.id]
    assert (await async_outbox.conservation()).enqueued == 1


async def test_a_task_that_is_cancelled_inside_a_transaction_leaves_nothing_behind(async_outbox: AsyncOutbox) -> None:
    inside = asyncio.Event()

    async def stay() -> None:
        async with async_outbox.transaction() as connection:
            await async_outbox.enqueue(email(), key="k", connection=connection)
            inside.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(stay())
    await inside.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    assert task.cancelled()
    assert not (await async_outbox.enqueue(email(), key="k")).duplicate


async def test_many_tasks_may_enqueue_at_once(async_outbox: AsyncOutbox) -> None:
    receipts = await asyncio.gather(*(async_outbox.enqueue(email(), key=f"key-{n % 10}") for n in range(40)))

    assert sum(not receipt.duplicate for receipt in receipts) == 10
    assert (await async_outbox.conservation()).enqueued == 10


async def test_transactions_leave_no_connection_behind(async_outbox: AsyncOutbox) -> None:
    async def once() -> None:
        async with async_outbox.transaction() as connection:
            await async_outbox.enqueue(email(), connection=connection)

    for _ in range(3):
        await once()
    before = open_files()
    for _ in range(20):
        await once()

    assert open_files() <= before


def open_files() -> int:
    return psutil.Process().num_fds()


def test_threads_leave_no_connection_behind(outbox: Outbox) -> None:
    """A server that starts a thread for each request must not run out of files."""

    def one_request() -> None:
        thread = Thread(target=lambda: outbox.enqueue(email()))
        thread.start()
        thread.join()

    for _ in range(3):
        one_request()
    before = open_files()
    for _ in range(20):
        one_request()

    assert open_files() <= before
    assert outbox.counts()["pending"] == 23


def test_a_transaction_inside_a_transaction_of_the_same_thread_is_told(migrated_sqlite_url: str) -> None:
    """On SQLite the second would wait for the first, which waits for the second."""
    with Outbox(migrated_sqlite_url) as outbox:

        def nested() -> None:
            with outbox.transaction():
                outbox.enqueue(email())

        with pytest.raises(PostroomError, match="pass the connection it gave you as connection="):
            nested()
        assert outbox.counts()["pending"] == 0

"""An outbox that was used before a fork works in parent and children, as if each had made its own.

Each child writes at the same time as the others and as the parent, and every receipt is a row afterwards.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

import pytest

from postroom import AsyncOutbox, Outbox
from postroom.store.sqlite import connection as sqlite_connection
from tests.store.forking import Child, results
from tests.store.journey import email

CHILDREN, EACH = 6, 50


@pytest.fixture
def used(store_url: str) -> Iterator[Outbox]:
    """An outbox with connections in its pool."""
    with Outbox(store_url) as outbox:
        outbox.enqueue(email("before the fork"))
        yield outbox


def stored(url: str) -> set[str]:
    """What is in the database, as a process sees it that had no part in it."""
    found: set[str] = set()
    with Outbox(url) as outbox:
        page = outbox.list(limit=1_000)
        found.update(each.id for each in page.emails)
        while page.next is not None:  # threads that write until others are done may write any number
            page = outbox.list(limit=1_000, before=page.next)
            found.update(each.id for each in page.emails)
    return found


def together(lists: Iterable[list[str]]) -> list[str]:
    return list(chain.from_iterable(lists))


def write(outbox: Outbox, count: int = EACH) -> list[str]:
    return [outbox.enqueue(email(f"Email {number}")).id for number in range(count)]


def test_every_receipt_of_parent_and_children_is_a_row(used: Outbox, store_url: str) -> None:
    children = Child.several(CHILDREN, lambda number: write(used))
    receipts = write(used)
    for child in results(children):
        receipts += child

    assert len(set(receipts)) == (CHILDREN + 1) * EACH
    assert stored(store_url) >= set(receipts)
    assert used.conservation().holds


def test_what_a_child_commits_stays_when_the_parent_closes_its_connections(used: Outbox, store_url: str) -> None:
    """SQLite's last connection removes the journal behind it: it must know of a child's."""
    ready, closed = multiprocessing.Pipe(), multiprocessing.Pipe()

    def work() -> list[str]:
        first = write(used, 1)
        ready[1].send(True)
        closed[0].recv()
        return first + write(used, 1)

    child = Child(work)
    ready[0].recv()
    used.close()
    closed[1].send(True)
    receipts = child.result()

    assert stored(store_url) >= set(receipts)


def test_children_of_children_write_as_well(used: Outbox, store_url: str) -> None:
    def work() -> list[str]:
        own = write(used, 5)
        return own + together(results(Child.several(2, lambda number: write(used, 5))))

    children = [Child(work), Child(work)]
    receipts = write(used, 5) + together(results(children))

    assert len(set(receipts)) == 35
    assert stored(store_url) >= set(receipts)


def test_a_fork_amid_the_writing_of_other_threads_leaves_nobody_waiting(used: Outbox, store_url: str) -> None:
    receipts: list[str] = []
    enough = threading.Event()

    def go_on() -> None:
        while not enough.is_set():
            receipts.extend(write(used, 1))

    threads = [threading.Thread(target=go_on) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        found = together(results(Child(lambda: write(used, 5)) for _ in range(20)))
    finally:
        enough.set()
        for thread in threads:
            thread.join()

    assert stored(store_url) >= {*receipts, *found}
    assert used.conservation().holds


def test_a_fork_while_another_thread_is_inside_a_transaction_spoils_neither(used: Outbox, store_url: str) -> None:
    inside, go_on = threading.Event(), threading.Event()
    receipts: list[str] = []

    def hold() -> None:
        with used.transaction() as connection:
            receipts.append(used.enqueue(email("held"), connection=connection).id)
            inside.set()
            go_on.wait()
            receipts.append(used.enqueue(email("held, later"), connection=connection).id)

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait()
    child = Child(lambda: write(used, 5))
    go_on.set()
    thread.join()
    receipts += child.result()

    assert len(receipts) == 7
    assert stored(store_url) >= set(receipts)


def test_a_child_forked_inside_a_transaction_neither_commits_nor_rolls_back_what_is_its_parents(
    used: Outbox, store_url: str
) -> None:
    entered, left = multiprocessing.Pipe(), multiprocessing.Pipe()

    def leave_and_write() -> list[str]:
        transaction.__exit__(None, None, None)  # as a child does that returns out of the block
        entered[1].send(True)
        left[0].recv()
        return write(used, 3)

    transaction = used.transaction()
    connection = transaction.__enter__()
    first = used.enqueue(email("of the parent"), connection=connection).id
    child = Child(leave_and_write)
    entered[0].recv()
    unseen = first not in stored(store_url)
    second = used.enqueue(email("of the parent, later"), connection=connection).id
    transaction.__exit__(None, None, None)
    left[1].send(True)
    receipts = child.result()

    assert unseen
    assert stored(store_url) >= {first, second, *receipts}


def test_what_a_killed_parent_had_open_does_not_live_on_in_its_children(used: Outbox, store_url: str) -> None:
    """The server hears of its end at once: whoever wants the same key does not wait for the children's end."""
    ready, over = multiprocessing.Pipe(), multiprocessing.Pipe()

    def hold() -> None:
        with used.transaction() as connection:
            used.enqueue(email("never committed"), key="invoice-7", connection=connection)
            grandchild = Child(over[0].recv)
            ready[1].send(True)
            grandchild.result()

    parent = Child(hold)
    ready[0].recv()
    os.kill(parent.pid, signal.SIGKILL)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(used.enqueue, email("by somebody else"), key="invoice-7")
        try:
            receipt = asked.result(20)
        finally:
            over[1].send(True)

    assert not receipt.duplicate
    assert receipt.id in stored(store_url)


def test_multiprocessing_by_fork_works_as_it_is(used: Outbox, store_url: str) -> None:
    """A pool, as Celery's, whose children find the outbox that their parent has used."""
    context = multiprocessing.get_context("fork")
    _used_here[store_url] = used
    # Children die of SIGTERM, whatever other tests in this process have left in its place.
    with context.Pool(3, signal.signal, (signal.SIGTERM, signal.SIG_DFL)) as pool:
        found = pool.map_async(_write_some, [store_url] * 6).get(60)
        pool.close()
        pool.join()
    _used_here.clear()
    receipts = write(used, 5) + together(found)

    assert stored(store_url) >= set(receipts)


_used_here: dict[str, Outbox] = {}


def _write_some(url: str) -> list[str]:
    return write(_used_here[url], 10)


def test_one_outbox_in_several_children_of_multiprocessing(used: Outbox, store_url: str) -> None:
    context = multiprocessing.get_context("fork")
    receipts = context.SimpleQueue()
    children = [context.Process(target=lambda: receipts.put(write(used, 10))) for _ in range(4)]
    for child in children:
        child.start()
    found = write(used, 10) + together(receipts.get() for _ in children)
    for child in children:
        child.join(60)

    assert [child.exitcode for child in children] == [0] * 4
    assert stored(store_url) >= set(found)


def test_an_async_outbox_works_in_a_child_with_a_loop_of_its_own(store_url: str) -> None:
    outbox = AsyncOutbox(store_url)

    async def several() -> list[str]:
        return [(await outbox.enqueue(email(f"Email {number}"))).id for number in range(10)]

    async def parent() -> list[str]:
        before = await several()
        children = Child.several(4, lambda number: asyncio.run(several()))
        after = await several()
        found = await asyncio.to_thread(results, children)
        await outbox.close()
        return before + after + together(found)

    receipts = asyncio.run(parent())

    assert len(set(receipts)) == 60
    assert stored(store_url) >= set(receipts)


def test_one_async_outbox_serves_one_loop_after_another(store_url: str) -> None:
    """Its pool may still be connecting for some of them when the first loop has what it came for, and ends."""
    outbox = AsyncOutbox(store_url)

    async def several() -> list[str]:
        return [each.id for each in await asyncio.gather(*(outbox.enqueue(email(f"Email {n}")) for n in range(5)))]

    receipts = together(asyncio.run(several()) for _ in range(20))
    asyncio.run(outbox.close())

    assert stored(store_url) >= set(receipts)


def test_a_task_that_is_cancelled_at_the_end_of_its_loop_may_still_store_an_email(store_url: str) -> None:
    outbox = AsyncOutbox(store_url)
    tasks: list[asyncio.Task[None]] = []
    receipts: list[str] = []

    async def background() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.05)
            receipts.append((await outbox.enqueue(email("the last words"))).id)

    async def application() -> None:
        await outbox.enqueue(email("before"))
        tasks.append(asyncio.create_task(background()))
        await asyncio.sleep(0)

    asyncio.run(application())
    asyncio.run(outbox.close())

    assert receipts
    assert stored(store_url) >= set(receipts)


def test_somebody_who_cancels_every_other_task_can_go_on_with_the_outbox(store_url: str) -> None:
    outbox = AsyncOutbox(store_url)

    async def application() -> list[str]:
        receipts = [(await outbox.enqueue(email("before"))).id]
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for each in others:
            each.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        receipts.append((await outbox.enqueue(email("after"))).id)
        await outbox.close()
        return receipts

    receipts = asyncio.run(application())

    assert stored(store_url) >= set(receipts)


def test_a_fork_does_not_wait_for_ever_for_a_statement_under_way(migrated_sqlite_url: str) -> None:
    """Whoever is inside SQLite may stay there for long; the child then leaves that connection alone, and lives."""
    with Outbox(migrated_sqlite_url) as outbox, outbox.database.connection() as connection:
        entered, leave = threading.Event(), threading.Event()

        def linger(value: object) -> object:
            entered.set()
            leave.wait()
            return value

        connection.create_function("linger", 1, linger)
        thread = threading.Thread(target=lambda: connection.fetch("SELECT linger(1)"))
        thread.start()
        entered.wait()
        before = sqlite_connection.PATIENCE
        try:
            sqlite_connection.PATIENCE = 0.05
            alive = Child(lambda: "alive").result()
        finally:
            sqlite_connection.PATIENCE = before
            leave.set()
            thread.join()

    assert alive == "alive"

"""A connection that the server ended while nobody used it fails nobody: the next call has another one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, ExitStack
from urllib.parse import urlsplit

import psycopg
import pytest

from postroom import AsyncOutbox, Outbox
from postroom.errors import StoreUnavailable
from postroom.store.open import open_async_database
from postroom.store.plan import ask
from postroom.store.postgres.idle import has_news
from tests.servers.postgres_cluster import PostgresCluster
from tests.store.journey import email

SEVERAL = 5


def terminate(url: str) -> int:
    """End every session of ours in this database, and see them gone."""
    with psycopg.connect(url, autocommit=True) as administrator:
        ended = administrator.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND application_name = 'postroom'"
        ).fetchall()
    assert all(gone for [gone] in ended)
    return len(ended)


def fill(outbox: Outbox) -> None:
    """Have so many connections in the pool."""
    with ExitStack() as held:
        for _ in range(SEVERAL):
            held.enter_context(outbox.database.connection())


async def fill_async(outbox: AsyncOutbox) -> None:
    async with AsyncExitStack() as held:
        for _ in range(SEVERAL):
            await held.enter_async_context(outbox.database.connection())  # type: ignore[union-attr]


def test_the_first_call_after_every_connection_was_terminated_succeeds(migrated_postgres_url: str) -> None:
    with Outbox(migrated_postgres_url) as outbox:
        fill(outbox)
        ended = terminate(migrated_postgres_url)
        receipts = [outbox.enqueue(email(f"Email {number}")).id for number in range(2 * SEVERAL)]

        assert ended == SEVERAL
        assert {each.id for each in outbox.list().emails} == set(receipts)


def test_the_same_in_an_event_loop(migrated_postgres_url: str) -> None:
    async def work() -> None:
        async with AsyncOutbox(migrated_postgres_url) as outbox:
            await fill_async(outbox)
            ended = await asyncio.to_thread(terminate, migrated_postgres_url)
            receipts = [(await outbox.enqueue(email(f"Email {number}"))).id for number in range(2 * SEVERAL)]

            assert ended == SEVERAL
            assert {each.id for each in (await outbox.list()).emails} == set(receipts)

    asyncio.run(work())


@pytest.fixture(scope="module")
def cluster() -> Iterator[PostgresCluster]:
    """A server that may be restarted."""
    with PostgresCluster.create() as cluster:
        yield cluster


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_the_first_call_after_a_restart_of_the_server_succeeds(cluster: PostgresCluster, mode: str) -> None:
    url = cluster.url
    with Outbox(url) as outbox:
        outbox.migrate()
        fill(outbox)
        cluster.stop(mode=mode)
        cluster.start()
        receipt = outbox.enqueue(email("after the restart"))

        assert urlsplit(url).port == cluster.port
        assert outbox.get(receipt.id).subject == "after the restart"


def test_the_first_call_in_an_event_loop_after_a_restart_succeeds(cluster: PostgresCluster) -> None:
    async def work() -> None:
        async with AsyncOutbox(cluster.url) as outbox:
            await outbox.migrate()
            await fill_async(outbox)
            await asyncio.to_thread(cluster.stop)
            await asyncio.to_thread(cluster.start)
            receipt = await outbox.enqueue(email("after the restart"))

            assert (await outbox.get(receipt.id)).subject == "after the restart"

    asyncio.run(work())


def test_a_notice_of_the_server_is_no_reason_to_drop_a_connection(migrated_postgres_url: str) -> None:
    """A configuration that is read anew is told to every session: the connection has news, and is good."""
    with Outbox(migrated_postgres_url) as outbox:
        with outbox.database.connection() as connection:
            backend, socket = connection.info.backend_pid, connection.pgconn.socket
            connection.execute("LISTEN postroom")
        with psycopg.connect(migrated_postgres_url, autocommit=True) as other:
            other.execute("NOTIFY postroom")
            wait_until(lambda: has_news(socket))
        with outbox.database.connection() as connection:
            assert connection.info.backend_pid == backend


def test_looking_at_a_connection_costs_microseconds(migrated_postgres_url: str) -> None:
    """Far less than a question to a server on this very machine."""
    with Outbox(migrated_postgres_url) as outbox, outbox.database.connection() as connection:
        socket = connection.pgconn.socket
        looking = quickest(lambda: has_news(socket))
        asking = quickest(lambda: connection.execute("SELECT 1"))

    assert looking < asking / 4


def quickest(act: Callable[[], object], times: int = 500) -> float:
    found = []
    for _ in range(times):
        began = time.perf_counter()
        act()
        found.append(time.perf_counter() - began)
    return min(found)


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_a_connection_to_a_server_that_may_only_read_is_not_used_again(migrated_postgres_url: str) -> None:
    """After a failover every connection in the pool may be to the old server, and one refusal tells of them all."""
    name = urlsplit(migrated_postgres_url).path.removeprefix("/")
    with (
        Outbox(migrated_postgres_url) as outbox,
        psycopg.connect(migrated_postgres_url, autocommit=True) as administrator,
    ):
        administrator.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")  # type: ignore[arg-type]
        fill(outbox)
        administrator.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")  # type: ignore[arg-type]
        with pytest.raises(StoreUnavailable, match="read-only"):
            outbox.enqueue(email())
        for number in range(SEVERAL):
            outbox.enqueue(email(f"Email {number}"))

        assert outbox.counts()["pending"] == SEVERAL


def test_outages_are_counted(store_url: str) -> None:
    async def work() -> None:
        database = open_async_database(store_url)
        await database.run(_look(), writes=False)
        before = database.outages
        await database.close()
        for _ in range(3):
            with pytest.raises(StoreUnavailable):
                await database.run(_look(), writes=False)

        assert before == 0
        assert database.outages == 3

    asyncio.run(work())


def _look():  # type: ignore[no-untyped-def]
    return (yield ask("clock"))

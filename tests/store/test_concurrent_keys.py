"""The same key from two transactions at once: the second waits for the first, then knows (B2)."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event

import psycopg
import pytest

from postroom import Email, Outbox
from postroom.store.contract import Receipt

EMAIL = Email(to="ada@example.org", subject="Hi", text="Hello")


@pytest.fixture
def outbox(postgres_url: str) -> Iterator[Outbox]:
    with Outbox(postgres_url) as outbox:
        outbox.migrate()
        yield outbox


@pytest.fixture
def first(outbox: Outbox) -> Iterator[psycopg.Connection]:
    with psycopg.connect(outbox.database_url) as connection:
        yield connection


@pytest.fixture
def second(outbox: Outbox) -> Iterator[psycopg.Connection]:
    with psycopg.connect(outbox.database_url) as connection:
        yield connection


@pytest.fixture
def thread() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as thread:
        yield thread


def wait_until_blocked(outbox: Outbox, *, waiting: psycopg.Connection, by: psycopg.Connection) -> None:
    """Return when the server says that one connection waits for the other."""
    with psycopg.connect(outbox.database_url, autocommit=True) as observer:
        while True:
            [blockers] = observer.execute("SELECT pg_blocking_pids(%s)", (waiting.info.backend_pid,)).fetchone() or [[]]
            if by.info.backend_pid in blockers:
                return
            Event().wait(0.005)


def enqueue_behind(
    outbox: Outbox, first: psycopg.Connection, second: psycopg.Connection, thread: ThreadPoolExecutor
) -> tuple[Receipt, Future[Receipt]]:
    """Both enqueue under the same key; the second is known to wait for the first when this returns."""
    receipt = outbox.enqueue(EMAIL, key="k", connection=first)
    waiting = thread.submit(outbox.enqueue, EMAIL, key="k", connection=second)
    wait_until_blocked(outbox, waiting=second, by=first)
    return receipt, waiting


def test_when_the_first_commits_the_second_is_a_duplicate_of_it_and_its_transaction_usable(
    outbox: Outbox, first: psycopg.Connection, second: psycopg.Connection, thread: ThreadPoolExecutor
) -> None:
    receipt, waiting = enqueue_behind(outbox, first, second, thread)
    first.commit()
    duplicate = waiting.result()
    other = outbox.enqueue(EMAIL, connection=second)
    second.commit()

    assert (duplicate.duplicate, duplicate.id) == (True, receipt.id)
    assert {email.id for email in outbox.list().emails} == {receipt.id, other.id}


def test_when_the_first_rolls_back_the_second_enters(
    outbox: Outbox, first: psycopg.Connection, second: psycopg.Connection, thread: ThreadPoolExecutor
) -> None:
    _, waiting = enqueue_behind(outbox, first, second, thread)
    first.rollback()
    entered = waiting.result()
    second.commit()

    assert not entered.duplicate
    assert [email.id for email in outbox.list().emails] == [entered.id]

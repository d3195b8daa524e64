"""What `outbox.transaction()` gives is a connection to enqueue through like any other (B1)."""

from __future__ import annotations

from typing import Any

import pytest

from postroom import AsyncOutbox, Email, Outbox
from postroom.errors import ConfigurationError

EMAIL = Email(to="ada@example.org", subject="Hi", text="Hello")


class Changed(Exception):
    """The application thinks better of it."""


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> Any:
    url = request.getfixturevalue(f"{request.param}_url")
    with Outbox(url) as outbox:
        outbox.migrate()
        with outbox.transaction() as connection:
            connection.execute("CREATE TABLE orders (name TEXT PRIMARY KEY)")
    return url


def orders_and_emails(url: str) -> tuple[int, int]:
    """As another outbox sees them, when all is done."""
    with Outbox(url) as outbox:
        emails = len(outbox.list().emails)
        with outbox.transaction() as connection:
            return connection.execute("SELECT count(*) FROM orders").fetchone()[0], emails


def write(outbox: Outbox, *, changes_its_mind: bool) -> None:
    with outbox.transaction() as connection:
        connection.execute("INSERT INTO orders (name) VALUES ('a')")
        outbox.enqueue(EMAIL, key="k", connection=connection)
        outbox.enqueue(EMAIL, key="k", connection=connection)
        if changes_its_mind:
            raise Changed


async def write_async(outbox: AsyncOutbox, *, changes_its_mind: bool) -> None:
    async with outbox.transaction() as connection:
        await connection.execute("INSERT INTO orders (name) VALUES ('a')")
        await outbox.enqueue(EMAIL, key="k", connection=connection)
        await outbox.enqueue(EMAIL, key="k", connection=connection)
        if changes_its_mind:
            raise Changed


def test_the_outboxs_own_transaction_commits_both(url: str) -> None:
    with Outbox(url) as outbox:
        write(outbox, changes_its_mind=False)

    assert orders_and_emails(url) == (1, 1)


def test_the_outboxs_own_transaction_rolls_both_back(url: str) -> None:
    with Outbox(url) as outbox, pytest.raises(Changed):
        write(outbox, changes_its_mind=True)

    assert orders_and_emails(url) == (0, 0)


async def test_the_async_outboxs_own_transaction_commits_both(url: str) -> None:
    async with AsyncOutbox(url) as outbox:
        await write_async(outbox, changes_its_mind=False)

    assert orders_and_emails(url) == (1, 1)


async def test_the_async_outboxs_own_transaction_rolls_both_back(url: str) -> None:
    async with AsyncOutbox(url) as outbox:
        with pytest.raises(Changed):
            await write_async(outbox, changes_its_mind=True)

    assert orders_and_emails(url) == (0, 0)


async def test_an_outbox_for_threads_sends_async_connections_to_the_async_outbox(url: str) -> None:
    async with AsyncOutbox(url) as asynchronous, asynchronous.transaction() as connection:
        with Outbox(url) as outbox, pytest.raises(ConfigurationError, match="AsyncOutbox"):
            outbox.enqueue(EMAIL, connection=connection)


def test_reads_are_part_of_the_outboxs_own_transaction(url: str) -> None:
    with Outbox(url) as outbox, outbox.transaction() as connection:
        receipt = outbox.enqueue(EMAIL, connection=connection)

        assert outbox.get(receipt.id, connection=connection).subject == "Hi"
        assert [email.id for email in outbox.list(connection=connection).emails] == [receipt.id]
        assert outbox.counts(connection=connection)["pending"] == 1


async def test_reads_are_part_of_an_async_outboxs_own_transaction(url: str) -> None:
    async with AsyncOutbox(url) as outbox, outbox.transaction() as connection:
        receipt = await outbox.enqueue(EMAIL, connection=connection)

        assert (await outbox.get(receipt.id, connection=connection)).subject == "Hi"
        assert [email.id for email in (await outbox.list(connection=connection)).emails] == [receipt.id]
        assert (await outbox.counts(connection=connection))["pending"] == 1

"""An outbox for tests of others: its emails end in memory, and a real worker can be driven over it."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from postroom import Email, Outbox
from postroom.errors import ConfigurationError
from postroom.testing import MemoryTransport
from postroom.work.thread import WorkerThread

WELCOME = Email(to="ada@example.org", subject="Welcome", text="Good to see you.")


def until_sent(outbox: Outbox, count: int) -> None:
    deadline = time.monotonic() + 30
    while outbox.counts()["sent"] < count and time.monotonic() < deadline:
        time.sleep(0.01)


def test_what_is_sent_inline_ends_in_memory(postroom_outbox: Outbox, memory_transport: MemoryTransport) -> None:
    outcome = postroom_outbox.send(WELCOME)

    assert outcome.sent
    assert [envelope.recipients for envelope in memory_transport.sent] == [("ada@example.org",)]


def test_a_worker_of_the_test_sends_over_the_transport_of_the_outbox(
    postroom_outbox: Outbox, memory_transport: MemoryTransport
) -> None:
    with WorkerThread(postroom_outbox):
        postroom_outbox.enqueue_many(WELCOME for _ in range(20))
        until_sent(postroom_outbox, 20)

    assert len(memory_transport.sent) == memory_transport.attempts == 20
    assert postroom_outbox.conservation().holds


def test_the_worker_goes_by_the_clock_of_the_outbox(postroom_outbox: Outbox, memory_transport: MemoryTransport) -> None:
    """An email for tomorrow leaves when the test says that it is tomorrow."""
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    postroom_outbox.enqueue(WELCOME, not_before=tomorrow)
    later = Outbox(
        postroom_outbox.database_url, transport=memory_transport, clock=lambda: tomorrow + timedelta(hours=1)
    )
    with later, WorkerThread(later):
        until_sent(postroom_outbox, 1)

    assert len(memory_transport.sent) == 1


def test_an_outbox_without_a_way_out_is_told_before_a_thread_begins(postroom_outbox: Outbox) -> None:
    with Outbox(postroom_outbox.database_url) as outbox, pytest.raises(ConfigurationError, match="no way out"):
        WorkerThread(outbox)


def test_every_route_leads_to_the_transport_of_a_test(tmp_path: Path, memory_transport: MemoryTransport) -> None:
    routes = {"news": "smtp://news.example.org"}
    with Outbox(f"sqlite:///{tmp_path}/app.db", routes=routes, transport=memory_transport) as outbox:
        outbox.migrate()
        with WorkerThread(outbox):
            outbox.enqueue(WELCOME, route="news")
            until_sent(outbox, 1)

    assert len(memory_transport.sent) == 1

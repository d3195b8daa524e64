"""`postroom.web.admin(outbox)` in somebody else's app: it opens nothing that nobody closes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import psutil
import psycopg
import pytest
from fastapi import FastAPI
from httpx import ASGITransport, AsyncClient

from postroom import Email, Outbox
from postroom.web import admin
from tests.store.conftest import migrated_postgres_url, migrated_sqlite_url, migrated_template, store_url
from tests.work.office import until

__all__ = ["migrated_postgres_url", "migrated_sqlite_url", "migrated_template", "store_url"]


def connections(url: str) -> int:
    """How many are open now, whoever in this process opened them."""
    if url.startswith("sqlite"):
        path = Path(url.removeprefix("sqlite:///")).resolve()
        return sum(Path(each.path) == path for each in psutil.Process().open_files())
    with psycopg.connect(url, autocommit=True) as connection:
        found = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND backend_type = 'client backend'"
        ).fetchone()
    assert found is not None
    return int(found[0])


async def test_the_app_of_a_blocking_outbox_opens_no_connections_of_its_own(store_url: str) -> None:
    with Outbox(store_url, sender="desk@example.org") as outbox:
        outbox.enqueue(Email(to="ada@example.org", subject="Hello from a thread", text="Hi"))
        outer = FastAPI()
        outer.mount("/postroom", admin(outbox, dev=True))
        transport = ASGITransport(outer, client=("127.0.0.1", 40_000))
        async with AsyncClient(transport=transport, base_url="http://localhost") as browser:
            pages = [(await browser.get(f"/postroom/admin{path}")) for path in ("", "/email-queue", "/audit")]
        during = connections(store_url)

    assert [page.status_code for page in pages] == [200, 200, 200]
    assert "Hello from a thread" in pages[1].text
    assert during > 0
    # Closing the outbox closes everything, though the app still stands; PostgreSQL's processes end in their own time.
    await until(lambda: connections(store_url) == 0)
    assert outer.routes


async def test_an_app_goes_by_the_settings_of_its_outbox(sqlite_url: str) -> None:
    with Outbox(sqlite_url, sender="desk@example.org", policy="quick") as outbox:
        outbox.migrate()
        app = admin(outbox, dev=True)

        assert app.state.operations.outbox.settings is outbox.settings
        assert app.state.operations.outbox.rules is outbox.rules


@pytest.mark.parametrize("path", ["/admin", "/api/admin/dashboard"])
async def test_one_app_serves_several_event_loops(sqlite_url: str, path: str) -> None:
    """Each thread of a server may have a loop of its own."""
    with Outbox(sqlite_url) as outbox:
        outbox.migrate()
        app = admin(outbox, dev=True)

        async def ask() -> int:
            transport = ASGITransport(app, client=("127.0.0.1", 40_000))
            async with AsyncClient(transport=transport, base_url="http://localhost") as browser:
                return (await browser.get(path)).status_code

        answers = [await asyncio.to_thread(lambda: asyncio.run(ask())) for _ in range(2)]

    assert answers == [200, 200]

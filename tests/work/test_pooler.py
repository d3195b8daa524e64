"""Behind PgBouncer in transaction mode: every transaction in another session, nothing prepared, nobody who notifies."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from postroom import Outbox, Status
from postroom.cli.reaching import reach
from postroom.errors import ConfigurationError
from postroom.store.open import open_async_database, open_database
from postroom.store.postgres.awaiting import AsyncPostgresDatabase
from postroom.store.postgres.database import PostgresDatabase
from postroom.testing import ScriptedSmtp
from tests.servers.pgbouncer import pooler
from tests.work.nursery import Nursery
from tests.work.office import Office, wait_until


@pytest.fixture
def pooled_url(migrated_postgres_url: str) -> Iterator[str]:
    with pooler(migrated_postgres_url) as url:
        yield f"{url}?pooler=transaction"


@pytest.fixture
def pooled_office(pooled_url: str, server: ScriptedSmtp, tmp_path: Path, nursery: Nursery) -> Iterator[Office]:
    with Office(pooled_url, server, tmp_path, nursery) as office:
        yield office


def test_many_workers_share_a_few_sessions_and_send_each_email_once(pooled_office: Office) -> None:
    ids = pooled_office.enqueue(300)
    pooled_office.finish(workers=3)

    assert pooled_office.statuses(ids) == {Status.SENT}
    assert set(pooled_office.server.copies_of_all().values()) == {1}
    assert len(pooled_office.server.messages) == 300


def test_an_idle_worker_finds_new_emails_by_looking(pooled_office: Office) -> None:
    worker = pooled_office.start_worker(EMAIL_WORKER_POLL_INTERVAL="0.1s")
    for _ in range(3):
        pooled_office.enqueue()
        wait_until(lambda: not pooled_office.unfinished())
    pooled_office.dismiss([worker])

    assert sorted(pooled_office.server.copies_of_all().values()) == [1, 1, 1]


def test_the_schema_is_made_and_times_are_utc_through_a_pooler(pooled_url: str) -> None:
    """PostgreSQL runs in another zone here, and each session has served somebody else before."""
    with Outbox(pooled_url, tables="elsewhere") as outbox:
        applied = outbox.migrate()
        zones = set()
        for _ in range(20):
            with outbox.database.connection() as connection:
                zones |= {row[0] for row in connection.execute("SHOW timezone").fetchall()}

    assert applied
    assert zones == {"UTC"}


@pytest.mark.parametrize(
    ("url", "left", "pooled"),
    [
        ("postgresql://ada@db/app", "postgresql://ada@db/app", False),
        ("postgresql://ada@db/app?pooler=transaction", "postgresql://ada@db/app", True),
        ("postgres://db/app?sslmode=require&pooler=transaction", "postgresql://db/app?sslmode=require", True),
        ("postgresql+psycopg://db/app?connect_timeout=3", "postgresql://db/app?connect_timeout=3", False),
    ],
)
async def test_the_url_says_that_a_pooler_stands_between(url: str, left: str, pooled: bool) -> None:
    database, async_database = open_database(url), open_async_database(url)

    assert isinstance(database, PostgresDatabase)
    assert isinstance(async_database, AsyncPostgresDatabase)
    assert (database.url, database.pooled) == (async_database.url, async_database.pooled) == (left, pooled)


def test_another_kind_of_pooling_is_refused_with_the_remedy() -> None:
    with pytest.raises(ConfigurationError, match="in session mode nothing has to be said"):
        open_database("postgresql://db/app?pooler=session")


def test_a_pooler_that_was_not_told_of_is_recognised_by_what_it_refuses() -> None:
    """Old PgBouncers take no start-up options; on newer ones they work, and so do prepared statements."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_refuse, args=(listener,), daemon=True).start()
        database = open_database(f"postgresql://ada@127.0.0.1:{listener.getsockname()[1]}/app?sslmode=disable")

        with pytest.raises(ConfigurationError, match=r"add \?pooler=transaction"):
            reach(database)


def _refuse(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    with connection:
        connection.recv(1_000)
        said = b"SFATAL\0C08P01\0Munsupported startup parameter: options\0\0"
        connection.sendall(b"E" + (len(said) + 4).to_bytes(4) + said)

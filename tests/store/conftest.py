"""Both stores behind one fixture: a test that takes `outbox` runs on SQLite and on PostgreSQL, not knowing which."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from postroom import Outbox
from tests.servers.postgres import PostgresServer
from tests.store.journey import Clock

DATABASES = ("sqlite", "postgres")


@pytest.fixture(scope="session")
def migrated_template(postgres_server: PostgresServer) -> Iterator[str]:
    """The name of a migrated PostgreSQL database, to be copied: quicker than migrating one for each test."""
    with postgres_server.database() as url:
        with Outbox(url) as outbox:
            outbox.migrate()
        yield urlsplit(url).path.removeprefix("/")


@pytest.fixture
def migrated_postgres_url(postgres_server: PostgresServer, migrated_template: str) -> Iterator[str]:
    """A migrated PostgreSQL database of the test's own."""
    with postgres_server.database(template=migrated_template) as url:
        yield url


@pytest.fixture
def migrated_sqlite_url(sqlite_url: str) -> str:
    """A migrated SQLite database of the test's own."""
    with Outbox(sqlite_url) as outbox:
        outbox.migrate()
    return sqlite_url


@pytest.fixture(params=DATABASES)
def store_url(request: pytest.FixtureRequest) -> str:
    """A migrated database of the test's own: one test, every store."""
    return str(request.getfixturevalue(f"migrated_{request.param}_url"))


@pytest.fixture(params=DATABASES)
def empty_url(request: pytest.FixtureRequest) -> str:
    """A database of the test's own without any of our tables."""
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture
def clock() -> Clock:
    """The time that everything goes by; it stands still until a test moves it."""
    return Clock()


@pytest.fixture
def outbox(store_url: str, clock: Clock) -> Iterator[Outbox]:
    """An empty outbox."""
    with Outbox(store_url, clock=clock) as outbox:
        yield outbox


@pytest.fixture
def postgres_outbox(migrated_postgres_url: str, clock: Clock) -> Iterator[Outbox]:
    """An empty outbox where several transactions write at once: for what only row locks can show."""
    with Outbox(migrated_postgres_url, clock=clock) as outbox:
        yield outbox

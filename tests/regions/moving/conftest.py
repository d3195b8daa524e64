"""Two regions for each test, on every pair of databases."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from postroom import Outbox
from tests.regions.moving.pair import Pair
from tests.servers.postgres import PostgresServer
from tests.store.conftest import migrated_template
from tests.store.journey import Clock

__all__ = ["migrated_template"]

EACH_ONCE = ("sqlite-postgres", "postgres-sqlite")
"""Each of them is left once, and moved to once."""


@pytest.fixture(params=EACH_ONCE)
def urls(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, str]]:
    """Two databases: the one that is left, and the one that is moved to."""
    here, _, there = str(request.param).partition("-")
    with _database(here, "here", tmp_path, request) as one, _database(there, "there", tmp_path, request) as two:
        yield one, two


@pytest.fixture
def pair(urls: tuple[str, str]) -> Iterator[Pair]:
    """Two regions that go by one clock, which stands still. The tables of the second go by another name on SQLite."""
    clock = Clock()
    tables = "elsewhere" if urls[1].startswith("sqlite") else "postroom"
    with Outbox(urls[0], clock=clock) as here, Outbox(urls[1], clock=clock, tables=tables) as there:
        here.migrate()
        there.migrate()
        yield Pair(here=here, there=there, clock=clock)


@contextmanager
def _database(kind: str, name: str, folder: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    if kind == "sqlite":
        yield f"sqlite:///{folder / name}.db"
        return
    server: PostgresServer = request.getfixturevalue("postgres_server")
    with server.database(template=request.getfixturevalue("migrated_template")) as url:
        yield url

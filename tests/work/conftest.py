"""An office for each test, on SQLite and on PostgreSQL: an outbox, a mail server, and workers to be troubled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from postroom.testing import ScriptedSmtp
from tests.store.conftest import migrated_postgres_url, migrated_sqlite_url, migrated_template, store_url
from tests.work.nursery import Nursery
from tests.work.office import Office

__all__ = ["migrated_postgres_url", "migrated_sqlite_url", "migrated_template", "store_url"]


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """Where worker processes come from."""
    nursery = Nursery()
    yield nursery
    nursery.close()


@pytest.fixture
def server() -> Iterator[ScriptedSmtp]:
    with ScriptedSmtp() as server:
        yield server


@pytest.fixture
def office(store_url: str, server: ScriptedSmtp, tmp_path: Path, nursery: Nursery) -> Iterator[Office]:
    """One test, every store."""
    with Office(store_url, server, tmp_path, nursery) as office:
        yield office


@pytest.fixture
def postgres_office(
    migrated_postgres_url: str, server: ScriptedSmtp, tmp_path: Path, nursery: Nursery
) -> Iterator[Office]:
    with Office(migrated_postgres_url, server, tmp_path, nursery) as office:
        yield office


@pytest.fixture
def sqlite_office(migrated_sqlite_url: str, server: ScriptedSmtp, tmp_path: Path, nursery: Nursery) -> Iterator[Office]:
    with Office(migrated_sqlite_url, server, tmp_path, nursery) as office:
        yield office

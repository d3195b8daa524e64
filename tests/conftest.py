"""What every test may ask for: databases, fresh for each test. A server that is absent is an error, never a skip."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.servers import postgres

# No deadline: a busy machine is not a bug. `HYPOTHESIS_PROFILE=thorough` looks longer.
settings.register_profile("quick", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", parent=settings.get_profile("quick"), max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[postgres.PostgresServer]:
    """A PostgreSQL server for the whole session: the one in `POSTROOM_TEST_POSTGRES`, or a private one."""
    with postgres.server() as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: postgres.PostgresServer) -> Iterator[str]:
    """An empty PostgreSQL database of the test's own."""
    with postgres_server.database() as url:
        yield url


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """An SQLite database of the test's own; the file does not exist yet."""
    return f"sqlite:///{tmp_path / 'outbox.db'}"

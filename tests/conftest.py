"""What every test may ask for: databases and queues, fresh for each test.

A server that is absent is an error, never a skip.
"""

from __future__ import annotations

import os
import secrets
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.servers import postgres, rabbitmq

TESTS = Path(__file__).parent

# No deadline: a busy machine is not a bug. `HYPOTHESIS_PROFILE=thorough` looks longer.
settings.register_profile("quick", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", parent=settings.get_profile("quick"), max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

# A shell that puts us into the background has Ctrl-C ignored, and whom we start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


LONG = ("work", "outbox", "broker", "browser", "regions", "examples", "gallery", "test_docs.py")
"""Where tests wait for processes, servers and browsers."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long comes first, so that no process is left alone with it at the end."""
    items.sort(key=lambda item: item.path.relative_to(TESTS).parts[0] not in LONG)


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


@pytest.fixture
def links(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an email needs that can be unsubscribed from, for outboxes that are made from now on."""
    monkeypatch.setenv("POSTROOM_PUBLIC_URL", "https://mail.example.org")
    monkeypatch.setenv("POSTROOM_SECRET", "forty characters, none of which is a secret")


@pytest.fixture(scope="session")
def rabbit_server() -> Iterator[rabbitmq.RabbitServer]:
    """A RabbitMQ broker for the whole session: the one in `POSTROOM_TEST_RABBITMQ`, or a private one."""
    with rabbitmq.server() as server:
        yield server


@pytest.fixture
def broker_url(rabbit_server: rabbitmq.RabbitServer) -> str:
    """A broker that is shared with other tests; `dispatcher` names queues that are not."""
    return rabbit_server.url


@pytest.fixture
def dispatcher(rabbit_server: rabbitmq.RabbitServer) -> Iterator[str]:
    """What the names of the test's own queues begin with, in place of `email.dispatcher`."""
    prefix = f"test-{secrets.token_hex(6)}.dispatcher"
    yield prefix
    routes = [f"{prefix}.{route}{lane}" for route in ("send", "retry") for lane in ("", ".urgent", ".bulk")]
    rabbit_server.delete(queues=[*routes, f"{prefix}.dead"], exchanges=[f"{prefix}.dead.letters"])

"""A bureau for each test: an outbox, a mail server, a broker with queues of the test's own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from postroom.broker.topology import Broker
from postroom.testing import ScriptedSmtp
from tests.broker.bureau import Bureau
from tests.store.conftest import migrated_postgres_url, migrated_sqlite_url, migrated_template, store_url
from tests.work.conftest import nursery, server
from tests.work.nursery import Nursery

__all__ = ["migrated_postgres_url", "migrated_sqlite_url", "migrated_template", "nursery", "server", "store_url"]


@pytest.fixture
def broker(broker_url: str, dispatcher: str) -> Broker:
    return Broker(url=broker_url, send=f"{dispatcher}.send", dead=f"{dispatcher}.dead")


@pytest.fixture
def retry_broker(broker: Broker, dispatcher: str) -> Broker:
    """The same with a queue for retries."""
    return replace(broker, retry=f"{dispatcher}.retry")


@pytest.fixture
def bureau(
    migrated_postgres_url: str, server: ScriptedSmtp, tmp_path: Path, nursery: Nursery, broker: Broker
) -> Iterator[Bureau]:
    with Bureau(migrated_postgres_url, server, tmp_path, nursery, broker) as bureau:
        yield bureau


@pytest.fixture
def sqlite_bureau(
    migrated_sqlite_url: str, server: ScriptedSmtp, tmp_path: Path, nursery: Nursery, broker: Broker
) -> Iterator[Bureau]:
    with Bureau(migrated_sqlite_url, server, tmp_path, nursery, broker) as bureau:
        yield bureau


@pytest.fixture
def any_bureau(
    store_url: str, server: ScriptedSmtp, tmp_path: Path, nursery: Nursery, broker: Broker
) -> Iterator[Bureau]:
    """One test, every store."""
    with Bureau(store_url, server, tmp_path, nursery, broker) as bureau:
        yield bureau

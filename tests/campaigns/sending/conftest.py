"""A stage for each test, on SQLite and on PostgreSQL: a workspace whose campaigns are sent by hand, on a clock of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from postroom import Outbox
from tests.campaigns.sending.stage import MONDAY, Stage
from tests.store.conftest import migrated_postgres_url, migrated_sqlite_url, migrated_template, store_url
from tests.store.journey import Clock

__all__ = ["migrated_postgres_url", "migrated_sqlite_url", "migrated_template", "store_url"]


@pytest.fixture
def clock() -> Clock:
    clock = Clock()
    clock.now = MONDAY
    return clock


@pytest.fixture
def outbox(store_url: str, clock: Clock) -> Iterator[Outbox]:
    with Outbox(store_url, clock=clock) as outbox:
        yield outbox


@pytest.fixture
def stage(outbox: Outbox, clock: Clock) -> Stage:
    return Stage(outbox, clock)

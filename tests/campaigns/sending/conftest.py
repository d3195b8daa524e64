"""A stage for each test, on SQLite and on PostgreSQL: campaigns that are sent by hand, on a clock of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from postroom import Outbox
from tests.campaigns.sending.stage import LINKS, MONDAY, Stage
from tests.store.conftest import migrated_postgres_url, migrated_sqlite_url, migrated_template, store_url
from tests.store.journey import Clock

__all__ = ["migrated_postgres_url", "migrated_sqlite_url", "migrated_template", "store_url"]


@pytest.fixture(autouse=True)
def can_be_unsubscribed_from(monkeypatch: pytest.MonkeyPatch) -> None:
    """What every email of a campaign needs: a place to unsubscribe at, and a secret to seal the link with."""
    for name, value in LINKS.items():
        monkeypatch.setenv(name, value)


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

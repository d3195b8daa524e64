"""AsyncOperations over an outbox that a test fills by hand, on both stores."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from postroom import AsyncOutbox
from postroom.operate import AsyncOperations
from tests.store.conftest import (
    clock,
    migrated_postgres_url,
    migrated_sqlite_url,
    migrated_template,
    outbox,
    store_url,
)
from tests.store.journey import Clock

__all__ = [
    "clock",
    "migrated_postgres_url",
    "migrated_sqlite_url",
    "migrated_template",
    "outbox",
    "store_url",
]


@pytest.fixture
async def operations(store_url: str, clock: Clock) -> AsyncIterator[AsyncOperations]:
    """Of the same outbox that `outbox` fills."""
    async with AsyncOutbox(store_url, clock=clock) as awaiting:
        yield AsyncOperations(awaiting)

"""A door with a clock, on both stores, and somebody who may go through it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from postroom import AsyncOutbox
from postroom.accounts.accounts import add_person
from postroom.accounts.door import DoorKeeper
from postroom.accounts.values import Person, Role
from tests.accounts.doorstep import PASSWORD, Doorstep
from tests.accounts.quick import in_earnest, quick_hasher, quick_passwords
from tests.store.conftest import clock, migrated_postgres_url, migrated_sqlite_url, migrated_template, store_url
from tests.store.journey import Clock

__all__ = [
    "clock", "in_earnest", "migrated_postgres_url", "migrated_sqlite_url", "migrated_template", "quick_passwords",
    "store_url",
]  # fmt: skip


@pytest.fixture(scope="session")
def hashed() -> str:
    """Ada's password as it is kept."""
    return quick_hasher().hash(PASSWORD)


@pytest_asyncio.fixture
async def outbox(store_url: str, clock: Clock) -> AsyncIterator[AsyncOutbox]:
    async with AsyncOutbox(store_url, clock=clock, sender="desk@example.org") as outbox:
        yield outbox


@pytest_asyncio.fixture
async def ada(outbox: AsyncOutbox, hashed: str) -> Person:
    return await outbox.database.run(add_person("Ada@example.org", role=Role.ADMIN, password=hashed))


@pytest.fixture
def door(outbox: AsyncOutbox, ada: Person, hashed: str) -> Doorstep:
    return Doorstep(outbox, DoorKeeper(outbox), kept=hashed)

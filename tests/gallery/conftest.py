"""A portal, and the gallery of it as `postroom template preview` serves it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
import pytest_asyncio

from postroom import Outbox, Portal
from postroom.gallery.collection import Collection
from postroom.gallery.site import Preview, build
from tests.accounts.quick import in_earnest, quick_passwords
from tests.gallery.shop import open_shop

__all__ = ["in_earnest", "quick_passwords"]

PLACE = "http://127.0.0.1:8091"


@pytest.fixture
def shop(tmp_path: Path) -> Portal:
    return open_shop(tmp_path / "shop")


@pytest.fixture
def collection(shop: Portal) -> Collection:
    return Collection(lambda: {"shop": shop}, live=True)


@pytest_asyncio.fixture
async def client(collection: Collection, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A browser without a screen. Nothing has a way out of the outbox, so what is sent waits in it."""
    url = f"sqlite:///{tmp_path / 'outbox.db'}"
    with Outbox(url) as outbox:
        outbox.migrate()
    app = build(Preview(collection, lambda: Outbox(url)))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=PLACE) as client:
        yield client

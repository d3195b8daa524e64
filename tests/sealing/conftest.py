"""An outbox with a secret, on both stores, and a mail server for what it sends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from postroom.sealing import Keyring
from postroom.testing import ScriptedSmtp
from tests.channels.house import House
from tests.store.conftest import (
    clock,
    migrated_postgres_url,
    migrated_sqlite_url,
    migrated_template,
    outbox,
    store_url,
)

__all__ = [
    "clock",
    "migrated_postgres_url",
    "migrated_sqlite_url",
    "migrated_template",
    "outbox",
    "store_url",
]

SECRET = "not a secret, but forty characters long."
KEYRING = Keyring(SECRET)


@pytest.fixture
def server() -> Iterator[ScriptedSmtp]:
    with ScriptedSmtp() as server:
        yield server


class Houses:
    """Processes of one deployment, each with settings of its own."""

    def __init__(self, url: str, folder: Path, smtp: str) -> None:
        self._known: dict[str, Any] = {"url": url, "folder": folder, "smtp": smtp}
        self._open: list[House] = []

    def __call__(self, **settings: Any) -> House:
        house = House(**self._known, **settings)
        self._open.append(house)
        return house

    def close(self) -> None:
        for house in self._open:
            house.outbox.close()


@pytest.fixture
def houses(store_url: str, tmp_path: Path, server: ScriptedSmtp) -> Iterator[Houses]:
    houses = Houses(store_url, tmp_path, server.url)
    yield houses
    houses.close()


@pytest.fixture
def house(houses: Houses) -> House:
    return houses(secret=SECRET)

"""Outboxes on both stores, and logs that do not outlive a test."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from postroom.cli import secrets
from tests.store.conftest import (
    clock,
    migrated_postgres_url,
    migrated_sqlite_url,
    migrated_template,
    outbox,
    store_url,
)

__all__ = ["clock", "migrated_postgres_url", "migrated_sqlite_url", "migrated_template", "outbox", "store_url"]


@pytest.fixture(autouse=True)
def own_logging(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Neither handlers nor remembered secrets go from test to test."""
    monkeypatch.setattr(secrets, "_kept", set())
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:], root.level = handlers, level

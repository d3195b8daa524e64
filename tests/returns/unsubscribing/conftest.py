"""An outbox on both stores."""

from __future__ import annotations

from tests.store.conftest import (
    clock,
    migrated_postgres_url,
    migrated_sqlite_url,
    migrated_template,
    outbox,
    store_url,
)

__all__ = ["clock", "migrated_postgres_url", "migrated_sqlite_url", "migrated_template", "outbox", "store_url"]

"""Offices whose changes somebody wants to hear of, at a web server of the test's own."""

from __future__ import annotations

from postroom.testing.fixtures import http_server
from tests.work.conftest import (
    migrated_postgres_url,
    migrated_sqlite_url,
    migrated_template,
    nursery,
    office,
    server,
    store_url,
)

__all__ = [
    "http_server",
    "migrated_postgres_url",
    "migrated_sqlite_url",
    "migrated_template",
    "nursery",
    "office",
    "server",
    "store_url",
]

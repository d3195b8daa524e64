"""The application's own tables, in each region's database beside Postroom's."""

from __future__ import annotations

import re
import sqlite3
from typing import Any

TABLES = (
    """
    CREATE TABLE IF NOT EXISTS organisations (
        id   TEXT PRIMARY KEY,
        name TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS accounts (
        id              TEXT PRIMARY KEY,
        portal          TEXT NOT NULL,
        email           TEXT NOT NULL,
        name            TEXT NOT NULL,
        language        TEXT NOT NULL,
        password        TEXT NOT NULL,
        verified        BOOLEAN NOT NULL,
        organisation_id TEXT REFERENCES organisations,
        UNIQUE (portal, email)
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS invitations (
        id              TEXT PRIMARY KEY,
        email           TEXT NOT NULL,
        language        TEXT NOT NULL,
        organisation_id TEXT NOT NULL REFERENCES organisations
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS account_tokens (
        digest     TEXT PRIMARY KEY,
        purpose    TEXT NOT NULL,
        subject    TEXT NOT NULL,
        expires_at BIGINT NOT NULL
    )
    """,
)

_NAMED = re.compile(r":([a-z_]+)")


def create(connection: Any) -> None:
    """Have the tables."""
    for table in TABLES:
        run(connection, table)


def run(connection: Any, sql: str, **values: Any) -> list[Any]:
    """The rows of one statement. Its parameters are written `:name`, on PostgreSQL too."""
    if not isinstance(connection, sqlite3.Connection):
        sql = _NAMED.sub(r"%(\1)s", sql)
    cursor = connection.execute(sql, values)
    return cursor.fetchall() if cursor.description else []

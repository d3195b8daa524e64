"""A database of an application: its own table of orders, and Postroom's tables beside it."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import psycopg

from postroom import Outbox
from postroom.store.dialect import Dialect


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What another connection sees, by the names that one test has given."""

    orders: set[str]
    emails: set[str]
    keys: set[str]


NOTHING = Seen(orders=set(), emails=set(), keys=set())


class Database:
    """One for many tests, which keep apart by the token in every name they give."""

    def __init__(self, url: str, *, name: str) -> None:
        self.url = url
        self.name = name
        """`sqlite` or `postgres`."""
        with Outbox(url) as outbox:
            outbox.migrate()
            self.dialect: Dialect = outbox.database.dialect
        self._observer: Any = (
            sqlite3.connect(self.path, isolation_level=None)
            if name == "sqlite"
            else psycopg.connect(url, autocommit=True)
        )
        self.ask("CREATE TABLE orders (name TEXT PRIMARY KEY)")

    @property
    def path(self) -> str:
        return self.url.removeprefix("sqlite:///")

    def url_for(self, driver: str) -> str:
        """As SQLAlchemy spells it."""
        scheme, _, rest = self.url.partition("://")
        return f"{scheme}+{driver}://{rest}"

    def seen(self, token: str) -> Seen:
        tables = self.dialect.tables
        rows = self.ask(
            "SELECT 'orders', name FROM orders "
            f"UNION ALL SELECT 'emails', subject FROM {tables}contents c JOIN {tables}emails e ON e.id = c.email_id "
            f"UNION ALL SELECT 'keys', key FROM {tables}keys"
        )
        found: dict[str, set[str]] = {"orders": set(), "emails": set(), "keys": set()}
        for what, name in rows:
            if name.startswith(token):
                found[what].add(name.removeprefix(token))
        return Seen(**found)

    def has_attachment(self, digest: str) -> bool:
        return bool(self.ask(f"SELECT 1 FROM {self.dialect.tables}attachments WHERE digest = '{digest}'"))

    def ask(self, sql: str) -> Sequence[Any]:
        """Through a connection of its own, in autocommit: it sees what is committed."""
        cursor = self._observer.execute(sql)
        return cursor.fetchall() if cursor.description else []

    def close(self) -> None:
        self._observer.close()

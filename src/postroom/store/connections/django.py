"""Django's connections to PostgreSQL and SQLite: `django.db.connection`, `connections["alias"]`."""

from __future__ import annotations

from typing import Any

from postroom.errors import UnknownConnection
from postroom.store.connections.driver import SyncDriver
from postroom.store.connections.transaction import Bracket, psycopg_bracket, sqlite_bracket
from postroom.store.plan import Rows
from postroom.store.queries import ParameterStyle

_VENDORS = {"sqlite": "sqlite", "postgresql": "postgres"}


class DjangoCaller(SyncDriver):
    """A `DatabaseWrapper`, or the proxy for the current thread's.

    Statements go through Django's cursor, so that `atomic` blocks, instrumentation and thread checks apply as to any
    query of the application. Both databases take `%(name)s` there.
    """

    style = ParameterStyle.PYFORMAT

    def __init__(self, connection: Any) -> None:
        if connection.vendor not in _VENDORS:
            raise UnknownConnection(
                f"Postroom cannot enqueue through Django's connection to {connection.vendor}; "
                "it can through one to PostgreSQL or SQLite"
            )
        self._connection = connection
        self.dialect_name = _VENDORS[connection.vendor]

    def bracket(self) -> Bracket:
        self._connection.ensure_connection()
        driver = self._connection.connection
        return sqlite_bracket(driver) if self.dialect_name == "sqlite" else psycopg_bracket(driver)

    def execute(self, sql: str, parameters: Any = None) -> Rows:
        with self._connection.cursor() as cursor:
            cursor.execute(sql, parameters)
            return cursor.fetchall() if cursor.description else []

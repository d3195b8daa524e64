"""All that a database holds, as one text: whoever looks for something in it has looked everywhere."""

from __future__ import annotations

from postroom import Outbox

_TABLES = {
    "sqlite": "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'postroom%'",
    "postgres": "SELECT 'postroom.' || tablename FROM pg_tables WHERE schemaname = 'postroom'",
}


def everything_in(outbox: Outbox) -> str:
    """Every column of every row of every table; octets as Latin-1."""
    with outbox.transaction() as connection:
        tables = [row[0] for row in connection.execute(_TABLES[outbox.database.dialect.name]).fetchall()]
        rows = [row for table in tables for row in connection.execute(f"SELECT * FROM {table}").fetchall()]
    return "\n".join(_text(value) for row in rows for value in row)


def _text(value: object) -> str:
    return bytes(value).decode("latin-1") if isinstance(value, bytes | memoryview) else str(value)

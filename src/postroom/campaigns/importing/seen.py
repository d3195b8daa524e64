"""What a file has had before, on disk: a million addresses take no memory to speak of."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

_CACHE = 4_096
"""KiB that are kept in memory."""


class Seen:
    """Texts, each with the line on which it came first."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def before(self, text: str, line: int) -> int | None:
        """The line on which this came first; None if that is now."""
        added = self._connection.execute("INSERT OR IGNORE INTO seen VALUES (?, ?)", (text, line)).rowcount
        if added:
            return None
        [[first]] = self._connection.execute("SELECT line FROM seen WHERE text = ?", (text,))
        return int(first)


@contextmanager
def nothing_seen() -> Iterator[Seen]:
    """For one file; afterwards nothing of it is left. SQLite keeps it in a file without a name."""
    with closing(sqlite3.connect("", isolation_level=None)) as connection:
        connection.executescript(
            f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -{_CACHE};"
            "CREATE TABLE seen (text TEXT NOT NULL PRIMARY KEY, line INTEGER NOT NULL) WITHOUT ROWID; BEGIN;"
        )
        yield Seen(connection)

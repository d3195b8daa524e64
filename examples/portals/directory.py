"""The one thing that all regions share: where an address is at home, without the address.

Somebody who types an address to sign in does not say in which region their account is, and asking every region would
carry the address into all of them. So there is a directory of keyed hashes (HMAC-SHA-256) and regions. Who has the
table without the key learns nothing from it. Who has both can find out whether an address they know is in it, and
where: the law calls that pseudonymous, so the key is kept apart, and names, passwords and emails are in the regions.

It is a sign-post: whether somebody has an account is what the region's own database says.
"""

from __future__ import annotations

import hmac
import sqlite3
import threading
from hashlib import sha256
from pathlib import Path

from examples.portals.accounts import normal

TABLE = """
CREATE TABLE IF NOT EXISTS directory (
    portal TEXT NOT NULL,
    digest TEXT NOT NULL,
    region TEXT NOT NULL,
    PRIMARY KEY (portal, digest)
)
"""


class Directory:
    """Which region an address is at home in, at each portal. May be used by any number of threads."""

    def __init__(self, file: Path, *, key: str) -> None:
        self._key = key.encode()
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute(TABLE)

    def close(self) -> None:
        self._connection.close()

    def find(self, portal: str, address: str) -> str | None:
        """The region of an address; None if nobody has noted one."""
        rows = self._run("SELECT region FROM directory WHERE portal = ? AND digest = ?", portal, self._digest(address))
        return rows[0] if rows else None

    def note(self, portal: str, address: str, region: str) -> None:
        """Written before the account is: after a crash between the two, the entry leads to where nobody is yet."""
        self._run(
            "INSERT INTO directory (portal, digest, region) VALUES (?, ?, ?) "
            "ON CONFLICT (portal, digest) DO UPDATE SET region = excluded.region",
            portal,
            self._digest(address),
            region,
        )

    def _run(self, sql: str, *values: str) -> list[str]:
        with self._lock:
            return [row[0] for row in self._connection.execute(sql, values)]

    def _digest(self, address: str) -> str:
        return hmac.new(self._key, normal(address).encode("utf-8", "surrogatepass"), sha256).hexdigest()

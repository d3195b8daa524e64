"""Where a database's URL leads, whoever signs in there."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit


class DatabasePlace(NamedTuple):
    """One database. Two URLs may differ in their users and passwords, and lead to the same."""

    host: str | None
    """None for a file, and where the URL leaves it to PostgreSQL's own defaults, as it may the port."""
    port: int | str | None
    path: str
    """The file, the same from everywhere; or the database's name behind a slash."""


def database_place(url: str) -> DatabasePlace:
    """Where this URL leads. `ValueError` where its port is no number.

    PostgreSQL takes host, port and name from behind the question mark too, and these win: a socket's folder can be
    named in no other way.
    """
    parts = urlsplit(url)
    if parts.scheme.startswith("sqlite"):
        # As `store/open.py` reads it: three slashes name a file beside us, four one that is the same from everywhere.
        return DatabasePlace(None, None, str(Path(unquote(parts.path).removeprefix("/")).resolve()))
    asked = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    return DatabasePlace(
        host=asked.get("host", parts.hostname),
        port=asked.get("port", parts.port),
        path=f"/{asked['dbname']}" if "dbname" in asked else parts.path,
    )

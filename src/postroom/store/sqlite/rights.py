"""A file that may not be read or written: whose it is, and what to do about it."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from postroom.errors import StoreUnavailable
from postroom.posix import owner_of, this_user

_REFUSALS = ("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH")


def refused(path: Path, error: sqlite3.Error) -> StoreUnavailable | None:
    """What SQLite means where it may not open or write a file; None where it means something else."""
    if not getattr(error, "sqlite_errorname", "").startswith(_REFUSALS):
        return None
    return unusable(path, said=str(error))


def unusable(path: Path, *, said: str = "permission denied") -> StoreUnavailable:
    """Names what stands in the way: the file, or the folder in which SQLite keeps its log beside it."""
    user, place = this_user(), _in_the_way(path)
    if place is None:
        return StoreUnavailable(
            f"the outbox {path} cannot be opened or written ({said}); is its disk mounted read-only, or is it a folder?"
        )
    what = "written" if os.access(path, os.R_OK) else "read"
    whose = f"{place} belongs to {owner_of(place) or 'somebody else'}"
    return StoreUnavailable(
        f"the outbox {path} cannot be {what} by {user}: {whose}; run this as its owner, or let {user} read and write "
        "the file and its folder, where SQLite keeps its log"
    )


def _in_the_way(path: Path) -> Path | None:
    """The first of the folders and the file, from the outside in, that keeps us out."""
    for folder in reversed(path.absolute().parents):
        if folder.anchor != str(folder) and not os.access(folder, os.X_OK):
            return folder
    if os.path.exists(path) and not os.access(path, os.R_OK | os.W_OK):
        return path
    return None if os.access(path.parent, os.W_OK) else path.parent

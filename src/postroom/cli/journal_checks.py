"""Whether the folder of journals can be used by whoever asks, and what others have left in it can be read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from postroom.cli.checks import Finding, Level
from postroom.config import Settings
from postroom.posix import owner_of, this_user, user_name
from postroom.work.journal import journal_folder

_NAME = "journals"


def check_journals(settings: Settings) -> Iterator[Finding]:
    """Whether a worker, or an application that sends inline, could note here what it sends. Nothing is written."""
    folder = settings.journal or journal_folder(settings.database.get_secret_value(), settings.tables)
    there = _nearest(folder)
    if not os.access(there, os.W_OK | os.X_OK, effective_ids=True) or not there.is_dir():
        yield _not_ours(folder, there)
    elif there != folder:
        yield Finding(name=_NAME, level=Level.OK, detail=f"{folder} will be made by {this_user()}")
    else:
        yield _unreadable(folder) or Finding(name=_NAME, level=Level.OK, detail=f"{folder}, {_for_whom(folder)}")


def _nearest(folder: Path) -> Path:
    """The folder, or what there is of the way to it."""
    for place in (folder, *folder.parents):
        try:
            place.stat()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            return place
        return place
    return folder


def _not_ours(folder: Path, there: Path) -> Finding:
    where = f"{folder} cannot be written" if there == folder else f"{folder} cannot be made in {there}"
    return Finding(
        name=_NAME,
        level=Level.FAIL,
        detail=f"{where} by {this_user()}{_owner(there)}: without a journal nothing is sent",
        remedy="set POSTROOM_JOURNAL to a folder of that user, or of a group it shares with the workers",
    )


def _owner(there: Path) -> str:
    owner = owner_of(there)
    return f" (it is {owner}'s)" if owner else ""


def _unreadable(folder: Path) -> Finding | None:
    """Journals of others that say nothing to us: what they hold is in doubt when their owners die."""
    closed = [path for path in sorted(folder.iterdir()) if not os.access(path, os.R_OK | os.W_OK, effective_ids=True)]
    if not closed:
        return None
    owners = sorted({user_name(path.stat().st_uid) for path in closed})
    return Finding(
        name=_NAME,
        level=Level.WARN,
        detail=f"{folder} has journals of {', '.join(owners)} that {this_user()} cannot read",
        remedy="give the folder to a group of both users: chgrp, then chmod 2770",
    )


def _for_whom(folder: Path) -> str:
    known = folder.stat()
    shared = known.st_mode & stat.S_IWGRP
    return f"shared by group {known.st_gid}" if shared else f"for {user_name(known.st_uid)} alone"

"""Who may read and write journals: their user alone, or a group where the folder is a group's.

An application that sends inline and a worker may run as different users of one machine. Where their folder can be
written by a group, everything in it belongs to that group, whatever the umask: then each settles what the other left.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from postroom.errors import JournalFailed


def make_folder(folder: Path) -> None:
    """The folder, for its user alone if it has to be made."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)


def share(descriptor: int, folder: Path) -> None:
    """Give a new file to the folder's group, if the folder is a group's."""
    there = folder.stat()
    if not there.st_mode & stat.S_IWGRP:
        return
    with suppress(OSError):  # not a member: then the file is shared with whom it can be
        if os.fstat(descriptor).st_gid != there.st_gid:
            os.fchown(descriptor, -1, there.st_gid)
    os.fchmod(descriptor, 0o660)


def failure(folder: Path, error: OSError) -> JournalFailed:
    """What went wrong, where, and what to do about it."""
    return JournalFailed(f"the journal in {folder} cannot be written: {error.strerror or error}; {_remedy(folder)}")


def _remedy(folder: Path) -> str:
    me = os.geteuid()
    other = "set POSTROOM_JOURNAL to a folder of its own on a local disk"
    try:
        there = folder.stat()
    except OSError:
        return f"make it for user {me}, or {other}"
    if os.access(folder, os.W_OK | os.X_OK, effective_ids=True):
        return f"make room on its disk, or {other}"
    whose = f"it belongs to user {there.st_uid} and group {there.st_gid}"
    return f"{whose}, and we are user {me}: add us to that group and let it write, or {other}"

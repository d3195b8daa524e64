"""Whether a file of a portal has changed: by name, time and size of all of them. Nothing is installed for that."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from hashlib import sha256
from itertools import islice
from pathlib import Path

MOST_FILES = 20_000
"""Files that are looked at; a folder with more is no folder of templates."""


def state_of(folders: Iterable[Path], *, but: Collection[str] = ()) -> str:
    """Another text after every change: a file written, added, renamed or removed.

    Folders directly beneath these whose names are in `but` are left out.
    """
    found = sha256()
    for folder in folders:
        seen = sorted(islice(_files(folder, but), MOST_FILES))
        found.update("\n".join([str(folder), *seen]).encode("utf-8", "surrogateescape"))
    return found.hexdigest()[:16]


def _files(folder: Path, but: Collection[str]) -> Iterator[str]:
    waiting = [folder]
    while waiting:
        inside = waiting.pop()
        try:
            with os.scandir(inside) as entries:
                for entry in entries:
                    if not entry.is_dir(follow_symlinks=False):
                        status = entry.stat()
                        yield f"{entry.path}\t{status.st_mtime_ns}\t{status.st_size}"
                    elif inside != folder or entry.name not in but:
                        waiting.append(Path(entry.path))
        except OSError:
            continue  # it was removed while we looked; the next look sees it

"""A file of a journal, mapped into memory: its blocks are there before anything is copied into it.

A store into a mapping whose block cannot be had is a signal that ends the process. So the blocks are asked for first,
and a full disk is an error like any other.
"""

from __future__ import annotations

import errno
import mmap
import os
from pathlib import Path

from postroom.work.journal.record import segment_head
from postroom.work.journal.rights import share

_UNKNOWN_HERE = (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)
_ZEROS = bytes(65_536)


def begin_segment(path: Path, size: int) -> mmap.mmap:
    """A new segment of so many bytes, ready to be written behind its head. Raises OSError, and then leaves nothing.

    Nobody sees it before it is whole: without a head it would look damaged.
    """
    hidden = path.with_suffix(".new")
    descriptor = os.open(hidden, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        share(descriptor, path.parent)
        _allocate(descriptor, size)
        mapped = mmap.mmap(descriptor, size)
        mapped.write(segment_head(size))
        hidden.rename(path)
    except BaseException:
        hidden.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)  # the mapping has one of its own
    return mapped


def shorten_segment(path: Path, used: int) -> None:
    """Give back the blocks that a segment does not need any more: nothing will be added."""
    with path.open("r+b") as file:
        file.write(segment_head(used))
        file.truncate(used)


def read_at(path: Path, at: int, length: int) -> bytes:
    with path.open("rb") as file:
        return os.pread(file.fileno(), length, at)


def _allocate(descriptor: int, size: int) -> None:
    try:
        os.posix_fallocate(descriptor, 0, size)
    except OSError as error:
        if error.errno not in _UNKNOWN_HERE:
            raise
        for at in range(0, size, len(_ZEROS)):  # some file systems take blocks only with something in them
            _write_all(descriptor, _ZEROS[: size - at])


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]

"""The lock of a journal: held for as long as its worker lives, and what it says about the journal beside it.

    <the start of the machine under which it was written>
    journal 2
    closed <start of the machine> <seconds since then>    by its worker, with nothing open
    found <start of the machine> <seconds since then>     by somebody else: its worker is dead

Workers of version 1 wrote the first line alone, without its end. To them a lock of ours is one from before a power cut:
they believe what its journal says, and nothing that it does not say.
"""

from __future__ import annotations

import errno
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from postroom.work.journal.place import lock_path
from postroom.work.journal.record import VERSION
from postroom.work.journal.rights import share

with suppress(ImportError):  # nobody sends from Windows, see `postroom.posix`; but who enqueues there may import this
    import fcntl

_LONGEST = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """How a journal was written, as its lock says."""

    old: bool
    """Appended, by version 1."""
    since_boot: bool
    """Under the present start of the machine, in a form we know: what is not in it did not happen."""


def boot() -> str:
    """Names the time since this machine was started: what the kernel was given before that may never have been kept."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"started-about-minute-{round((time.time() - time.monotonic()) / 60)}"


def has_journal(folder: Path, worker: str) -> bool:
    """Whether that worker's journal is within reach."""
    return lock_path(folder, worker).exists()


def format_of(folder: Path, worker: str) -> Format:
    """How a worker's journal was written. Never raises: a lock that cannot be read says nothing."""
    try:
        text = lock_path(folder, worker).read_text("utf-8")
    except (OSError, ValueError):
        return Format(old=False, since_boot=False)
    old = bool(text) and "\n" not in text
    known = text == boot() if old else text.startswith(_first_lines())
    return Format(old=old, since_boot=known)


def new_lock(folder: Path, worker: str) -> int:
    """A lock that is held before it can be found, so that nobody takes a worker that starts for a dead one."""
    path = lock_path(folder, worker)
    hidden = path.with_suffix(".new")
    descriptor = os.open(hidden, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
    try:
        share(descriptor, folder)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.write(descriptor, _first_lines().encode())
        hidden.rename(path)
    except BaseException:
        os.close(descriptor)
        hidden.unlink(missing_ok=True)
        raise
    return descriptor


def take_lock(path: Path) -> int | None:
    """The lock of a journal, unless a living process has it or it is not for us to open.

    A lock whose file has gone is nobody's.
    """
    try:
        descriptor = _open(path)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_nlink:
            return descriptor
    except OSError:
        pass
    os.close(descriptor)
    return None


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_APPEND)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise
    return os.open(path, os.O_RDONLY)  # enough to hold it


def mark_closed(lock: int) -> None:
    """Note that its worker has gone, with nothing left to settle."""
    _mark(lock, "closed")


def mark_found(lock: int) -> None:
    """Note that its worker was found dead."""
    _mark(lock, "found")


def _mark(lock: int, what: str) -> None:
    with suppress(OSError):  # not ours to write: then somebody else will have to
        os.write(lock, f"{what} {boot()} {time.monotonic():.0f}\n".encode())


def gone_for(lock: int) -> float | None:
    """For how many seconds its worker has been gone; None where that is not noted under this start of the machine.

    By the clock that only goes forward, which all processes share.
    """
    with suppress(OSError, ValueError):
        for line in reversed(_marks(lock)):
            _what, start, seconds = line.rsplit(" ", 2)
            if start == boot():
                return time.monotonic() - float(seconds)
    return None


def is_closed(lock: int) -> bool:
    """Whether its worker left nothing to settle."""
    with suppress(OSError, ValueError):
        return any(line.startswith("closed ") for line in _marks(lock))
    return False


def _marks(lock: int) -> list[str]:
    return os.pread(lock, _LONGEST, 0).decode().splitlines()[2:]


def _first_lines() -> str:
    return f"{boot()}\njournal {VERSION}\n"

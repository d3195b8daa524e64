"""A connection to a SQLite file of which nothing is left over in a forked child.

SQLite keeps, for each file, what all connections of the process hold locked, because the locks of the operating system
belong to processes. A forked child inherits that book, and none of the locks: a connection it opens would believe to
hold what it does not hold, and commit into a file that somebody else removes; or find the file locked for good by a
thread that is not there. Only when every inherited connection to the file is closed does SQLite begin a new page.

So this happens around a fork, without anybody asking for it:

    before      whoever is inside SQLite on one of our connections comes out; nobody enters
    the parent  goes on as if nothing had happened
    the child   closes its copies of the connections, which takes nothing from the parent: locks are the parent's own,
                and what SQLite would write into the memory that both share goes into a private copy of it

The last is for Linux. Elsewhere a fork while a transaction is under way leaves that connection alone.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Set
from contextlib import suppress
from pathlib import Path
from typing import Any
from weakref import WeakSet

PATIENCE = 1.0
"""Seconds that a fork waits at most for statements under way."""


class Connection(sqlite3.Connection):
    """As the standard library's, and known to be in use or not."""

    def __init__(self, path: Path, **settings: Any) -> None:
        super().__init__(path, **settings)
        self.shared = f"{os.path.realpath(path)}-shm"
        """The file through which processes share memory about this one."""
        self.inside = _Inside()

    def execute(self, *statement: Any) -> sqlite3.Cursor:
        with self.inside:
            return super().execute(*statement)

    def executemany(self, *statement: Any) -> sqlite3.Cursor:
        with self.inside:
            return super().executemany(*statement)

    def fetch(self, *statement: Any) -> list[Any]:
        """Execute a statement, read all of its rows, and be done with it."""
        with self.inside:
            return super().execute(*statement).fetchall()

    def commit(self) -> None:
        with self.inside:
            super().commit()

    def rollback(self) -> None:
        with self.inside:
            super().rollback()

    def close(self) -> None:
        with self.inside:
            super().close()


class _Inside:
    """Held by whoever is inside SQLite with a connection; nobody enters while the process is about to fork."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.acquire, self.release = self._lock.acquire, self._lock.release

    def __enter__(self) -> None:
        # Locks know no turns: without this, whoever goes in and out all the time would keep a fork waiting.
        while _fork.about_to:
            _fork.done.wait()
        self.acquire()

    def __exit__(self, *details: object) -> None:
        self.release()


def connect(path: Path, *, patience: float) -> Connection:
    """Used by one thread at a time, though not always by the same one: hence no check. In autocommit mode."""
    with _fork.opening:
        _create_for_its_owner(path)
        connection = Connection(path, timeout=patience, isolation_level=None, check_same_thread=False)
        _fork.connections.add(connection)
    return connection


def _create_for_its_owner(path: Path) -> None:
    """A new file is for its owner's eyes only, and so are the files that SQLite puts beside it, which take its mode.

    One that is there is not touched: its mode is its owner's choice, and opening and closing it here would give up the
    locks that this process holds on it.
    """
    with suppress(OSError):  # it is there, or SQLite tells what is wrong
        os.close(os.open(os.path.realpath(path), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


class _Fork:
    """What happens around a fork."""

    def __init__(self) -> None:
        self.opening = threading.Lock()
        self.connections: WeakSet[Connection] = WeakSet()
        self._everyone: list[Connection] = []
        self._outside: set[Connection] = set()
        """Connections that nobody is inside of, while the process forks."""
        self._nobody_opens = False
        self._turn = threading.Lock()
        """Two threads may fork at once."""
        self.about_to = False
        self.done = threading.Event()

    def before(self) -> None:
        self._turn.acquire()
        end = time.monotonic() + PATIENCE
        self.done.clear()
        self.about_to = True
        self._nobody_opens = self.opening.acquire(timeout=PATIENCE)
        self._everyone = list(self.connections)
        self._outside = {
            each for each in self._everyone if each.inside.acquire(timeout=max(end - time.monotonic(), 0.0))
        }

    def in_parent(self) -> None:
        for connection in self._outside:
            connection.inside.release()
        self._everyone, self._outside = [], set()
        if self._nobody_opens:
            self.opening.release()
        self.about_to = False
        self.done.set()
        self._turn.release()

    def in_child(self) -> None:
        self.opening, self._turn = threading.Lock(), threading.Lock()
        self.done, self.about_to = threading.Event(), False
        self.connections = WeakSet()
        private = make_private({each.shared for each in self._outside})
        for connection in self._outside:
            if private or not connection.in_transaction:
                with suppress(sqlite3.Error):
                    sqlite3.Connection.close(connection)
        # The others stay as they are: what closing them would do, it would do to the parent's file.
        _abandoned.extend(self._everyone)
        self._everyone, self._outside = [], set()


_abandoned: list[Connection] = []


def make_private(shared: Set[str]) -> bool:
    """Put private copies in the place of memory that is shared through these files; False if that cannot be done.

    A connection that is closed in the middle of a transaction clears up there, under a lock that is not ours.
    """
    if not shared:
        return True
    if sys.platform != "linux":
        return False
    try:
        for line in Path("/proc/self/maps").read_text().splitlines():
            place, *_, name = line.split(maxsplit=5)
            if name.removesuffix(" (deleted)") in shared:
                _copy(*(int(address, 16) for address in place.split("-")))
    except OSError:
        return False
    return True


def _copy(start: int, end: int) -> None:
    content = ctypes.string_at(start, end - start)
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    three = (ctypes.c_int, ctypes.c_int, ctypes.c_int)
    library.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *three, ctypes.c_long)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_FIXED
    if library.mmap(start, end - start, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0) != start:
        raise OSError(ctypes.get_errno(), "memory cannot be mapped anew")
    ctypes.memmove(start, content, len(content))


_MAP_FIXED = 0x10

_fork = _Fork()
if hasattr(os, "register_at_fork"):  # nobody forks on Windows
    os.register_at_fork(before=_fork.before, after_in_parent=_fork.in_parent, after_in_child=_fork.in_child)

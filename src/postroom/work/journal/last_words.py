"""The journals of workers that are gone, for whoever takes over from them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from postroom.fork import tell_after_fork
from postroom.work.journal.lock import format_of, gone_for, is_closed, mark_found, take_lock
from postroom.work.journal.memory import Memory, read_memory
from postroom.work.journal.place import lock_path, segment_paths, workers_in


class LastWords:
    """The journal of a worker that is gone, held so that nobody else settles from it at the same time."""

    def __init__(self, folder: Path, worker: str, lock: int) -> None:
        self.worker = worker
        self._folder = folder
        self._lock = lock
        tell_after_fork(self)

    @cached_property
    def memory(self) -> Memory:
        """What it says; read when asked for."""
        return read_memory(self._folder, self.worker)

    def gone_for(self) -> float:
        """Seconds since its worker closed it, or was first found dead. 0 where that cannot be noted."""
        if format_of(self._folder, self.worker).old:
            return self._silent_for()
        known = gone_for(self._lock)
        if known is None:
            mark_found(self._lock)
        return known or 0.0

    @property
    def closed(self) -> bool:
        """Its worker left nothing to settle: it is kept for what was accepted alone."""
        return is_closed(self._lock)

    def _silent_for(self) -> float:
        """Version 1 wrote to its files, so their times tell when it last did."""
        written = [0.0]
        with suppress(OSError):
            written += [path.stat().st_mtime for path in segment_paths(self._folder, self.worker)]
        return time.time() - max(written)

    def remove(self) -> None:
        """All of it has been settled, and nobody will ask again."""
        remove_journal(self._folder, self.worker)
        self.release()

    def release(self) -> None:
        """Leave it to the next one."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def forget_parent(self) -> None:
        """A child that kept the lock would make the dead look alive, for as long as it lives itself."""
        with suppress(OSError):
            self.release()


def last_words(folder: Path) -> Iterator[LastWords]:
    """The journals of workers that are gone, one after another. Those of the living are locked; some are not for us."""
    for worker in workers_in(folder):
        lock = take_lock(lock_path(folder, worker))
        if lock is not None:
            yield LastWords(folder, worker, lock)


def remove_journal(folder: Path, worker: str) -> None:
    """Remove whatever there is of it; the lock last, for while it is there somebody will come back."""
    with suppress(OSError):
        for path in [*folder.glob(f"{worker}.*.journal"), *folder.glob(f"{worker}.*new"), lock_path(folder, worker)]:
            path.unlink(missing_ok=True)


def clear_away(folder: Path, *, older_than: float) -> None:
    """Remove what closed journals kept, where no worker does it: an application that sends inline may be alone here."""
    for words in last_words(folder):
        if words.closed and words.gone_for() > older_than:
            words.remove()
        else:
            words.release()

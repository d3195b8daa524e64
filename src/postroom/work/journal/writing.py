"""The journal of one living worker."""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final
from zlib import crc32

from postroom.errors import JournalFailed
from postroom.fork import tell_after_fork
from postroom.store.contract import Claim, Settlement
from postroom.store.recall import Accepted
from postroom.vocabulary import EmailId, Status
from postroom.work.journal.last_words import clear_away, remove_journal
from postroom.work.journal.lock import mark_closed, new_lock
from postroom.work.journal.memory import accepted_in_record
from postroom.work.journal.place import segment_path
from postroom.work.journal.record import LONGEST, NOTHING, RECORD_HEAD, SEGMENT_HEAD, body_at, framed, head
from postroom.work.journal.reply import reply_text
from postroom.work.journal.rights import failure, make_folder
from postroom.work.journal.segment import begin_segment, read_at, shorten_segment

FIRST_SEGMENT = 256 * 1024
"""Bytes of the first segment: many processes send little."""
SEGMENT = 4 * 1024 * 1024
"""Bytes of those that follow."""
KEEP_SECONDS: Final = 600.0
"""How long what was accepted is kept after the database knows it …"""
KEEP_BYTES: Final = 64 * 1024 * 1024
"""… and on how much of the disk at most."""

_SENT = Status.SENT


class Journal:
    """The journal of one living worker: of one process, and of one thread at a time.

    Raises `JournalFailed` where its folder cannot be written, and then leaves nothing open.
    """

    _map: mmap.mmap
    _write: Callable[[bytes], object]
    """Copies a record into the mapping; raises ValueError where it does not fit."""
    _tell: Callable[[], int]

    def __init__(
        self,
        folder: Path,
        worker: str,
        *,
        segment: int | None = None,
        keep_seconds: float = KEEP_SECONDS,
        keep_bytes: int = KEEP_BYTES,
    ) -> None:
        self.folder = folder
        self.worker = worker
        self._segment_bytes = segment or SEGMENT
        self._keep_seconds = keep_seconds
        self._keep_bytes = keep_bytes
        self._number = 0
        self._segments: dict[int, tuple[int, float]] = {}
        """The bytes of each segment, and when it was left for the next, oldest first."""
        self._open: dict[Claim, int] = {}
        """The segment with the latest word on each claim that the database has not settled."""
        self._accepted: dict[EmailId, int] = {}
        """Where it is noted that the server took an email: segment and offset in one number."""
        try:
            make_folder(folder)
            self._lock = new_lock(folder, worker)
        except OSError as error:
            raise failure(folder, error) from error
        try:
            self._begin(min(FIRST_SEGMENT, self._segment_bytes))
        except BaseException:
            os.close(self._lock)
            remove_journal(folder, worker)
            raise
        tell_after_fork(self)
        clear_away(folder, older_than=keep_seconds)

    # ---------------------------------------------------------------- what every email costs

    def note_dot(self, claim: Claim) -> None:
        """The dot of this claim is about to leave. Raises when that cannot be written down."""
        body = b"d%b %d\n" % (claim[0].encode(), claim[1])
        length = len(body)
        record = head(length, ~length, crc32(body)) + body
        try:
            self._write(record)
        except ValueError:  # it does not fit any more
            self._write_anew(record)
        self._open[claim] = self._number

    def note_reply(self, settlement: Settlement, version: int = 1) -> None:
        """What became of it. `version`: of the content that was sent."""
        text = settlement.written if version == 1 else None
        body = f"r{text or reply_text(settlement, version)}\n".encode()
        length = len(body)
        record = head(length, ~length, crc32(body)) + body
        try:
            try:
                self._write(record)
            except ValueError:
                self._write_anew(record)
        except JournalFailed:
            return  # the database will hear of it; only a crash before that is in doubt
        claim, number = settlement.claim, self._number
        self._open[claim] = number
        if settlement.status is _SENT:
            self._accepted[claim[0]] = (number << 32) + self._tell() - len(record)

    def note_undone(self, claim: Claim) -> None:
        """It did not leave after all."""
        with suppress(JournalFailed):  # then it is merely in doubt
            self._put(b"u%b %d\n" % (claim[0].encode(), claim[1]))
        self._open.pop(claim, None)

    def forget(self, claim: Claim) -> None:
        """The database knows. What was accepted is kept for a while all the same."""
        self._open.pop(claim, None)

    def accepted(self, id: EmailId) -> Accepted | None:
        """What this process knows the server to have taken, although the database may give the email out again.

        Whether it does so because it forgot is for `came_back` to say.
        """
        place = self._accepted.get(id)
        return None if place is None else self._read(id, place)

    # ---------------------------------------------------------------- in trouble, and at the end

    def mend(self) -> bool:
        """Whether the journal can be written; to be asked after it has failed."""
        try:
            self._put(NOTHING + b"\n")
        except JournalFailed:
            return False
        return True

    def close(self) -> None:
        """End the journal. It is removed unless something in it is open or was accepted; then the next one finds it."""
        if self._lock < 0:
            return
        used = self._tell()
        self._write = _refuse(f"the journal in {self.folder} is closed")
        self._map.close()
        with suppress(OSError):
            if not self._open and not self._accepted:
                remove_journal(self.folder, self.worker)
            elif not self._open:
                shorten_segment(self._path(self._number), used)
                mark_closed(self._lock)
        self._release()

    def forget_parent(self) -> None:
        """In a forked child the lock and the file are the parent's: whoever sends here makes a journal of its own."""
        if self._lock < 0:
            return
        self._write = _refuse(f"the journal in {self.folder} belongs to the parent of this process")
        with suppress(OSError):
            self._release()
        self._map.close()
        self._open.clear()
        self._accepted.clear()

    def _release(self) -> None:
        """Closing a lock unlocks it, unless another process holds it too: so a child leaves its parent's as it is."""
        lock, self._lock = self._lock, -1
        os.close(lock)

    # ---------------------------------------------------------------- segments

    def _put(self, body: bytes) -> None:
        record = framed(body)
        try:
            self._write(record)
        except ValueError:
            self._write_anew(record)

    def _write_anew(self, record: bytes) -> None:
        """Write a record as the first one of a new segment."""
        if len(record) - RECORD_HEAD > LONGEST:
            raise JournalFailed(f"a record of {len(record)} bytes is too long for the journal in {self.folder}")
        self._begin(max(self._segment_bytes, SEGMENT_HEAD + len(record)))
        self._write(record)

    def _begin(self, size: int) -> None:
        try:
            mapped = begin_segment(self._path(self._number + 1), size)
        except OSError as error:
            raise failure(self.folder, error) from error
        if self._number:
            self._segments[self._number] = self._segments[self._number][0], time.monotonic()
            self._map.close()
        self._number += 1
        self._map, self._segments[self._number] = mapped, (size, 0.0)
        self._write = mapped.write
        self._tell = mapped.tell
        self._tidy()

    def _tidy(self) -> None:
        """Drop segments that answer for nothing open and are too old, or too much, to be kept; oldest first."""
        needed = {self._number, *self._open.values()}
        spare = [number for number in self._segments if number not in needed]
        excess = sum(self._segments[number][0] for number in spare) - self._keep_bytes
        too_old = time.monotonic() - self._keep_seconds
        for number in spare:
            size, left_at = self._segments[number]
            if excess > 0 or left_at <= too_old:
                excess -= size
                self._drop(number)

    def _drop(self, number: int) -> None:
        del self._segments[number]
        with suppress(OSError):
            self._path(number).unlink(missing_ok=True)
        gone = []
        for id, place in self._accepted.items():  # in the order in which they were noted
            if place >> 32 in self._segments:
                break
            gone.append(id)
        for id in gone:
            del self._accepted[id]

    def _path(self, number: int) -> Path:
        return segment_path(self.folder, self.worker, number)

    def _read(self, id: EmailId, place: int) -> Accepted | None:
        path, at = self._path(place >> 32), place & 0xFFFFFFFF
        try:
            length = int.from_bytes(read_at(path, at, 4), "little")
            body = body_at(read_at(path, at, RECORD_HEAD + min(length, LONGEST)), 0)
        except OSError:  # gone: then nothing is known
            return None
        known = accepted_in_record(body, self.worker) if body else None
        return known if known is not None and known.settlement.claim.id == id else None


def _refuse(why: str) -> Callable[[bytes], object]:
    def refuse(record: bytes) -> object:
        raise JournalFailed(why)

    return refuse

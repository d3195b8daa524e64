"""A worker's own memory of dots and replies, on the local disk.

Between the final dot and the commit that records it lies the only moment in which an email can be sent and nobody
know. The database may be away just then, or the process may be killed. So each worker keeps an append-only file:

    dot        written before the final dot leaves: from here on the email may be out
    undone     the dot did not leave after all
    reply      what the attempt came to, written as soon as the reply is read

A record that was handed to the kernel survives `kill -9`; it is not synced to the platter for every email. After a
power cut a record may therefore be missing: the journal knows under which start of the machine it was written, and
one from before counts for what it says, never for what it does not say. Such an email is in doubt.

Every record has a CRC, and reading stops at the first that does not fit: a torn tail is a record never written.

The file is locked for as long as its worker lives. Whoever gets the lock holds a dead worker's last words, and can
settle its emails at once: sent where a reply is noted, in doubt where only the dot is, untouched where neither is.

Segments keep the file short: a new one is begun every few megabytes, and an old one goes when nothing in it is open.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import socket
import struct
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from postroom.store.contract import Claim, Settlement
from postroom.vocabulary import DeadReason, EmailId, LeaseToken, Status

SEGMENT = 4_000_000
"""Bytes after which a new segment is begun."""

_HEAD = struct.Struct("<II")
_DOT, _UNDONE, _REPLY, _NOTHING = b"d", b"u", b"r", b"n"


def worker_name() -> str:
    """A name that no other worker has, now or later: a journal and leases go by it."""
    host = "".join(c if c.isalnum() else "-" for c in socket.gethostname())[:40]
    return f"{host}-{os.getpid()}-{secrets.token_hex(3)}"


def journal_folder(database_url: str, tables: str) -> Path:
    """Where the workers of one outbox on this machine keep their journals, unless a setting says otherwise.

    Everybody who works for the same outbox must come to the same folder, and nobody else: it goes by the database's
    address without its password, under the user's folder for state.
    """
    parts = urlsplit(database_url)
    # As `store/open.py` reads it: three slashes name a file beside us, four one that is the same from everywhere.
    own_file = parts.scheme.startswith("sqlite")
    place = str(Path(unquote(parts.path).removeprefix("/")).resolve()) if own_file else parts.path
    known_by = f"{parts.hostname}:{parts.port}{place}:{tables}"
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "postroom" / sha256(known_by.encode()).hexdigest()[:16]


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no place in a journal")


_encode = json.JSONEncoder(separators=(",", ":"), check_circular=False, default=_plain).encode


class JournalFailed(Exception):
    """The journal cannot be written: no dot may leave without a note."""


@dataclass(slots=True)
class Memory:
    """What a journal says about the emails in it."""

    dots: set[Claim] = field(default_factory=set)
    """Whose dot may have left."""
    replies: dict[Claim, Settlement] = field(default_factory=dict)
    """What is known to have become of them."""
    complete: bool = True
    """What is not in it did not happen. After a power cut that cannot be said: records may be missing."""

    def hear(self, kind: bytes, body: bytes) -> None:
        if kind == _REPLY:
            settlement = _settlement(json.loads(body))
            self.replies[settlement.claim] = settlement
        elif kind == _DOT:
            self.dots.add(_claim(body))
        elif kind == _UNDONE:
            self.dots.discard(_claim(body))


class Journal:
    """The journal of one living worker."""

    def __init__(self, folder: Path, worker: str, *, segment: int = SEGMENT) -> None:
        self.folder = folder
        self.worker = worker
        self._segment_bytes = segment
        self._number = 0
        self._size = 0
        self._torn = False
        """The last write failed: what follows it in the same segment would not be read."""
        self._open: dict[int, int] = {}
        """How many claims each segment still answers for."""
        self._where: dict[Claim, tuple[int, ...]] = {}
        """The segments that speak of a claim."""
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._lock = _new_lock(folder / f"{worker}.lock")
        os.truncate(self._lock, 0)
        os.write(self._lock, boot().encode())
        self._file = self._begin()

    def note_dot(self, claim: Claim) -> None:
        """The dot of this claim is about to leave. Raises when that cannot be written down."""
        self._write(_DOT, _name(claim))
        self._keep(claim)

    def note_undone(self, claim: Claim) -> None:
        """It did not leave after all."""
        with suppress(JournalFailed):  # then it is merely in doubt
            self._write(_UNDONE, _name(claim))
        self.forget(claim)

    def note_reply(self, settlement: Settlement) -> None:
        """What became of it."""
        with suppress(JournalFailed):  # the database will hear of it; only a crash before that is in doubt
            self._write(_REPLY, (settlement.written or _encode(settlement.as_row())).encode())
            self._keep(settlement.claim)

    def forget(self, claim: Claim) -> None:
        """The database knows: this claim needs no memory any more."""
        for number in self._where.pop(claim, ()):
            self._open[number] -= 1
            if not self._open[number] and number != self._number:
                self._drop(number)

    def mend(self) -> bool:
        """Whether the journal can be written; to be asked after it has failed."""
        try:
            self._write(_NOTHING, b"")
        except JournalFailed:
            return False
        return True

    def close(self) -> None:
        """End the journal; it is removed when nothing in it is open."""
        os.close(self._file)
        if not self._where:
            for number in self._open:
                self._path(number).unlink(missing_ok=True)
            (self.folder / f"{self.worker}.lock").unlink(missing_ok=True)
        os.close(self._lock)

    def _keep(self, claim: Claim) -> None:
        """The present segment is needed until this claim is forgotten."""
        known = self._where.get(claim, ())
        if not known or known[-1] != self._number:
            self._where[claim] = (*known, self._number)
            self._open[self._number] += 1

    def _drop(self, number: int) -> None:
        del self._open[number]
        self._path(number).unlink(missing_ok=True)

    def _write(self, kind: bytes, body: bytes) -> None:
        try:
            if self._torn or self._size > self._segment_bytes:
                full, self._file = self._file, self._begin()
                os.close(full)
                self._torn = False
            record = _record(kind + body)
            if os.write(self._file, record) != len(record):
                raise OSError("the disk took only part of it")
            self._size += len(record)
        except OSError as error:
            self._torn = True
            raise JournalFailed(f"the journal in {self.folder} cannot be written: {error}") from error

    def _begin(self) -> int:
        previous, number = self._number, self._number + 1
        file = os.open(self._path(number), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_EXCL, 0o600)
        self._number, self._size = number, 0
        self._open[self._number] = 0
        if previous and not self._open[previous]:
            self._drop(previous)
        return file

    def _path(self, number: int) -> Path:
        return self.folder / f"{self.worker}.{number:06d}.journal"


class LastWords:
    """The journal of a worker that is dead, held so that nobody else settles from it at the same time."""

    def __init__(self, folder: Path, worker: str, lock: int) -> None:
        self.worker = worker
        self._folder = folder
        self._lock = lock
        self.memory = read_memory(folder, worker)

    def silent_for(self, seconds: float) -> bool:
        """Nothing has been written for so long."""
        written = (path.stat().st_mtime for path in _segments(self._folder, self.worker))
        return time.time() - max(written, default=0.0) > seconds

    def remove(self) -> None:
        """All of it has been settled."""
        for path in _segments(self._folder, self.worker):
            path.unlink(missing_ok=True)
        (self._folder / f"{self.worker}.lock").unlink(missing_ok=True)
        self.release()

    def release(self) -> None:
        """Leave it to the next one."""
        os.close(self._lock)


def last_words(folder: Path) -> Iterator[LastWords]:
    """The journals of dead workers in a folder, one after another. Those of the living are locked."""
    for path in sorted(folder.glob("*.lock")):
        lock = _lock(path)
        if lock is not None:
            yield LastWords(folder, path.name.removesuffix(".lock"), lock)


def read_memory(folder: Path, worker: str) -> Memory:
    """What a worker's journal says by now, whether or not the worker lives."""
    memory = Memory(complete=_written_since_boot(folder / f"{worker}.lock"))
    for path in _segments(folder, worker):
        with suppress(FileNotFoundError):  # a living worker may drop a segment while we look
            for record in _records(path.read_bytes()):
                memory.hear(record[:1], record[1:])
    return memory


def boot() -> str:
    """Names the time since this machine was started: what the kernel was given before that may never have been kept."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"started about minute {round((time.time() - time.monotonic()) / 60)}"


def _written_since_boot(lock: Path) -> bool:
    with suppress(OSError):
        return lock.read_text() == boot()
    return False


def has_journal(folder: Path, worker: str) -> bool:
    """Whether that worker's journal is within reach."""
    return (folder / f"{worker}.lock").exists()


def _segments(folder: Path, worker: str) -> list[Path]:
    return sorted(folder.glob(f"{worker}.??????.journal"))


def _record(payload: bytes) -> bytes:
    return _HEAD.pack(len(payload), zlib.crc32(payload)) + payload


def _records(data: bytes) -> Iterator[bytes]:
    position = 0
    while position + _HEAD.size <= len(data):
        length, checksum = _HEAD.unpack_from(data, position)
        payload = data[position + _HEAD.size : position + _HEAD.size + length]
        if len(payload) < length or not length or zlib.crc32(payload) != checksum:
            return
        yield payload
        position += _HEAD.size + length


def _lock(path: Path) -> int | None:
    """The lock of a journal, unless a living process has it; a lock whose file has gone is nobody's."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_nlink:
            return descriptor
    except BlockingIOError:
        pass
    os.close(descriptor)
    return None


def _new_lock(path: Path) -> int:
    """A lock that is held before it can be found, so that nobody takes a worker that starts for a dead one."""
    hidden = path.with_suffix(".new")
    descriptor = os.open(hidden, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    hidden.rename(path)
    return descriptor


def _name(claim: Claim) -> bytes:
    return f"{claim.id} {claim.token}".encode()


def _claim(body: bytes) -> Claim:
    id, token = body.decode().split(" ")
    return Claim(id=EmailId(id), token=LeaseToken(int(token)))


def _settlement(row: dict[str, Any]) -> Settlement:
    claim = Claim(id=row.pop("id"), token=row.pop("token"))
    status = Status(row.pop("status"))
    due_at, dead_reason = row.pop("due_at", None), row.pop("dead_reason", None)
    return Settlement(
        claim=claim,
        status=status,
        due_at=datetime.fromisoformat(due_at) if due_at else None,
        dead_reason=DeadReason(dead_reason) if dead_reason else None,
        **row,
    )

"""Time-ordered ids (UUIDv7, RFC 9562)."""

from __future__ import annotations

import os
import threading
import time
from datetime import UTC, datetime, timedelta

from postroom.fork import tell_after_fork
from postroom.vocabulary import EmailId

FIRST = EmailId("00000000-0000-0000-0000-000000000000")
LAST = EmailId("ffffffff-ffff-ffff-ffff-ffffffffffff")


class IdSource:
    """Makes ids that increase strictly within a process: milliseconds, a counter of 26 bits, then chance.

    The counter starts anywhere in its lower half each millisecond; were it ever to overflow, the next millisecond is
    borrowed rather than the order broken.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._millisecond = 0
        self._counter = 0
        tell_after_fork(self)

    def forget_parent(self) -> None:
        """Another thread of the parent may have held the lock. Chance tells ids of parent and child apart."""
        self._lock = threading.Lock()

    def next(self) -> EmailId:
        chance = int.from_bytes(os.urandom(10), "big")
        with self._lock:
            millisecond = time.time_ns() // 1_000_000
            if millisecond > self._millisecond:
                self._millisecond = millisecond
                self._counter = chance >> 55  # 25 bits: room for 2**25 ids before the next millisecond is borrowed
            else:
                self._counter += 1
                if self._counter >> 26:
                    self._millisecond += 1
                    self._counter = 0
            millisecond, counter = self._millisecond, self._counter
        return spell(millisecond, counter, chance & ((1 << 48) - 1))


def spell(millisecond: int, counter: int, chance: int) -> EmailId:
    """Write an id out: 48 bits of time, version, 12 + 14 bits of counter around the variant, 48 bits of chance."""
    version, variant = 0x7000 | (counter >> 14), 0x8000 | (counter & 0x3FFF)
    return EmailId(f"{millisecond >> 16:08x}-{millisecond & 0xFFFF:04x}-{version:04x}-{variant:04x}-{chance:012x}")


def first_id_at(moment: datetime, *, slack: timedelta = timedelta(0)) -> EmailId:
    """The smallest id made at `moment - slack`, for index ranges over time.

    Ids carry the clock of the machine that made them, rows that of the database: leave slack for the difference.
    """
    millisecond = max(0, int((moment - slack).timestamp() * 1000))
    return EmailId(str(spell(millisecond, 0, 0))[:13] + "-0000-0000-000000000000")


def made_at(id: EmailId) -> datetime:
    """When an id was made, by the clock of the machine that made it."""
    return datetime.fromtimestamp(int(id[:8] + id[9:13], 16) / 1000, tz=UTC)


_source = IdSource()
new_id = _source.next

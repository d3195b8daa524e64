"""Taking in one message, whichever way it came: read, matched, noted once, with all that follows.

When `take` returns, what the message says is in the database for good. When it raises, nothing is, and whoever has the
message keeps it. Taken again after a crash in between, it is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from postroom.claim.failpoint import reach
from postroom.logs import logger
from postroom.outbox import Outbox
from postroom.returns.intake.identity import SOURCE, identity
from postroom.returns.intake.noting import notes_of
from postroom.returns.reading import Reading, Unclear, read
from postroom.returns.reading.limits import OCTETS
from postroom.returns.recording import record_returns
from postroom.store.returns import Noted, Raw

READ = OCTETS
"""Octets of a message that are looked at; a longer one is known by its beginning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A message that was taken in."""

    reading: Reading
    noted: tuple[Noted, ...]

    @property
    def kind(self) -> str:
        """What it was taken for: what it says, of several the worst, or, where only its author tells, an answer."""
        return self.noted[0].note.what

    @property
    def duplicate(self) -> bool:
        """It was taken in before."""
        return all(each.duplicate for each in self.noted)

    def record(self) -> dict[str, Any]:
        """In JSON's types."""
        return {
            "kind": self.kind,
            "duplicate": self.duplicate,
            "reader": self.noted[0].note.reader,
            "message_id": self.reading.message_id,
            "recipients": [_recipient(each) for each in self.noted],
        }


def _recipient(noted: Noted) -> dict[str, Any]:
    note = noted.note
    return {
        "id": noted.id,
        "address": note.address,
        "kind": note.what,
        "class": note.bounce_class,
        "status": note.status,
        "code": note.code,
        "email_id": noted.email_id,
        "suppressed": noted.suppressed,
        "problem": note.problem,
    }


class Taker:
    """Takes messages into one outbox; any number of threads may use it at once."""

    def __init__(self, outbox: Outbox) -> None:
        self._database = outbox.database
        self._paths = outbox.settings.return_paths()

    def take(self, octets: bytes, *, size: int | None = None, delivered_to: Sequence[str] = ()) -> Taken:
        """Take one message in. `size` is that of the whole, where only its beginning is given."""
        raw = Raw(content=octets, size=len(octets) if size is None else size)
        octets = octets[:READ]
        reading = _read(octets)
        notes = notes_of(
            reading, source=SOURCE, source_id=identity(octets), delivered_to=delivered_to, paths=self._paths
        )
        reach("returns_before_commit")
        noted = self._database.run(record_returns(notes, raw=None if reading.kind is Unclear.OWN else raw))
        reach("returns_committed")
        taken = Taken(reading=reading, noted=tuple(noted))
        logger.info(
            "a message was taken in",
            what=taken.kind,
            duplicate=taken.duplicate,
            matched=sum(each.email_id is not None for each in noted),
            suppressed=sum(each.suppressed for each in noted),
        )
        return taken


def _read(octets: bytes) -> Reading:
    """What it says. A message over which the reader itself stumbles is one that nobody can read: kept, and shown."""
    try:
        return read(octets)
    except Exception as error:  # noqa: BLE001  nothing that somebody sends us may stop the next message
        logger.error("a message could not be read", error=type(error).__name__)
        return Reading(kind=Unclear.UNREADABLE, problem=f"reading it failed ({type(error).__name__})")

"""What a journal says, however it fared."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from postroom.store.contract import Claim, Settlement
from postroom.store.recall import Accepted
from postroom.vocabulary import Status
from postroom.work.journal.lock import Format, format_of
from postroom.work.journal.place import segment_paths
from postroom.work.journal.record import DOT, NOTHING, REPLY, UNDONE, Reading, read_old_segment, read_segment
from postroom.work.journal.reply import accepted_of, claim_in, claim_of, settlement_of


@dataclass(slots=True)
class Memory:
    """What a journal says about the emails in it."""

    dots: set[Claim] = field(default_factory=set)
    """Whose dot may have left."""
    replies: dict[Claim, Settlement] = field(default_factory=dict)
    """What is known to have become of them."""
    complete: bool = True
    """What is not in it did not happen. After a power cut or damage that cannot be said: records may be missing."""

    def hear(self, body: bytes) -> None:
        """Take in one record. Whatever it holds, nothing is raised: what is not understood is a doubt."""
        try:
            self._hear(body[:1], body[1:])
        except Exception:  # noqa: BLE001  a later version, or chance, may have written anything
            self.complete = False

    def _hear(self, kind: bytes, body: bytes) -> None:
        if kind == DOT:
            self._hear_dot(claim_in(body))
        elif kind == UNDONE:
            self.dots.discard(claim_in(body))
        elif kind == REPLY:
            self._hear_reply(body)
        elif kind != NOTHING:
            self.complete = False

    def _hear_dot(self, claim: Claim) -> None:
        """A database that forgot may give out the same claim again: then what became of the first dot says nothing."""
        self.dots.add(claim)
        earlier = self.replies.get(claim)
        if earlier is not None and earlier.status is not Status.SENT:
            del self.replies[claim]

    def _hear_reply(self, body: bytes) -> None:
        row = json.loads(body)
        claim = claim_of(row)
        try:
            self.replies[claim] = settlement_of(row)
        except Exception:  # noqa: BLE001  its dot left, and nobody here knows what came of it
            self.dots.add(claim)
            self.replies.pop(claim, None)
            self.complete = False


def read_memory(folder: Path, worker: str) -> Memory:
    """What a worker's journal says by now, whether or not the worker lives. Never raises."""
    form = format_of(folder, worker)
    memory = Memory(complete=form.since_boot)
    for reading in _readings(folder, worker, form):
        memory.complete &= reading.sound
        for body in reading.bodies:
            memory.hear(body)
    return memory


def accepted_in(folder: Path, worker: str) -> Iterator[list[Accepted]]:
    """What a worker's journal knows that the server took, a segment at a time, oldest first. Never raises."""
    for reading in _readings(folder, worker, format_of(folder, worker)):
        yield [known for body in reading.bodies if (known := accepted_in_record(body, worker)) is not None]


def accepted_in_record(body: bytes, worker: str) -> Accepted | None:
    """What a record says was accepted, if it says that and can be understood."""
    with suppress(Exception):
        return accepted_of(json.loads(body[1:]), worker=worker) if body[:1] == REPLY else None
    return None


def _readings(folder: Path, worker: str, form: Format) -> Iterator[Reading]:
    try:
        paths = segment_paths(folder, worker)
    except OSError:
        yield Reading(sound=False)
        return
    for path in paths:
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            continue  # a living worker may drop a segment while we look
        except OSError:
            yield Reading(sound=False)
        else:
            yield read_old_segment(data) if form.old else read_segment(data, last=path is paths[-1])

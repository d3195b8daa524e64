"""Workers that die and leave a damaged journal: nothing is sent again without a doubt on record."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from postroom import EmailId, Status
from postroom.work.journal.record import RECORD_HEAD, SEGMENT_HEAD, framed, read_segment, segment_head
from tests.work.office import PATIENCE, Office

COUNT = 10


def killed_before_settling(office: Office, **wishes: str) -> list[EmailId]:
    """Emails that the server has accepted, as a dead worker's journal alone knows."""
    ids = office.enqueue(COUNT, **wishes)
    worker = office.start_worker(options="connections=1", POSTROOM_FAILPOINT="before_settle:1")
    assert worker.wait(PATIENCE) == -signal.SIGKILL
    return ids


def rewrite(office: Office, change: Callable[[list[bytes]], list[bytes]]) -> None:
    """The journal with other records."""
    [path] = office.journals.glob("*.journal")
    bodies = change(read_segment(path.read_bytes(), last=True).bodies)
    data = b"".join(map(framed, bodies))
    path.write_bytes(segment_head(SEGMENT_HEAD + len(data)) + data)


def unrecorded(office: Office, ids: list[EmailId]) -> int:
    """Copies that the outbox does not own up to."""
    return sum(max(office.copies(id) - 1 - office.get(id).doubts, 0) for id in ids)


def flip_first_record(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[SEGMENT_HEAD + RECORD_HEAD + 3] ^= 1
    path.write_bytes(data)


def test_a_journal_that_is_damaged_in_the_middle_leads_to_no_silent_copy(office: Office) -> None:
    ids = killed_before_settling(office)
    [path] = office.journals.glob("*.journal")
    flip_first_record(path)
    office.finish()

    assert unrecorded(office, ids) == 0
    assert office.statuses(ids) == {Status.SENT}


def test_with_hold_there_is_no_second_copy_at_all(office: Office) -> None:
    ids = killed_before_settling(office, on_doubt="hold")
    [path] = office.journals.glob("*.journal")
    flip_first_record(path)
    office.finish()

    assert {office.copies(id) for id in ids} <= {0, 1}
    assert office.statuses(ids) <= {Status.SENT, Status.IN_DOUBT}


def test_replies_with_a_member_more_are_believed_and_end_no_worker(office: Office) -> None:
    """As a later version may write them."""
    known: list[EmailId] = []

    def later(bodies: list[bytes]) -> list[bytes]:
        replies = [json.loads(body[1:]) | {"route": "express"} for body in bodies if body[:1] == b"r"]
        known.extend(reply["id"] for reply in replies)
        dots = [body for body in bodies if body[:1] == b"d"]
        return [*dots, *(b"r" + json.dumps(reply).encode() + b"\n" for reply in replies)]

    ids = killed_before_settling(office)
    rewrite(office, later)
    office.finish()

    assert known
    assert {office.copies(id) for id in known} == {1}
    assert unrecorded(office, ids) == 0
    assert office.statuses(ids) == {Status.SENT}


@pytest.mark.parametrize("nonsense", [b"r[]\n", b"xsomething new\n", b'r{"id":"x","token":1,"status":"delivered"}\n'])
def test_records_that_nobody_understands_end_no_worker(office: Office, nonsense: bytes) -> None:
    ids = killed_before_settling(office)
    rewrite(office, lambda bodies: [nonsense, *bodies])
    office.finish()

    assert unrecorded(office, ids) == 0
    assert office.statuses(ids) == {Status.SENT}

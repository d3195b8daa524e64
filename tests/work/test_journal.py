"""A worker's own memory: what it says after a crash, with a torn tail, and when the disk is full."""

from __future__ import annotations

import errno
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from postroom.store.contract import Claim, Settlement
from postroom.vocabulary import DeadReason, EmailId, LeaseToken, Status
from postroom.work.journal import Journal, JournalFailed, has_journal, journal_folder, last_words, read_memory


def claim(number: int = 1, token: int = 1) -> Claim:
    return Claim(id=EmailId(f"email-{number}"), token=LeaseToken(token))


def sent(which: Claim) -> Settlement:
    return Settlement(claim=which, status=Status.SENT, attempts=1, reply_code=250, reply='{"text":"Ok"}')


def segments(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.journal"))


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path, "worker")


def test_a_journal_tells_dots_from_replies(journal: Journal, tmp_path: Path) -> None:
    journal.note_dot(claim(1))
    journal.note_dot(claim(2))
    journal.note_reply(sent(claim(2)))
    memory = read_memory(tmp_path, "worker")

    assert memory.dots == {claim(1), claim(2)}
    assert memory.replies == {claim(2): sent(claim(2))}


def test_a_dot_that_was_not_sent_after_all_is_not_remembered(journal: Journal, tmp_path: Path) -> None:
    journal.note_dot(claim())
    journal.note_undone(claim())

    assert read_memory(tmp_path, "worker").dots == set()


@pytest.mark.parametrize(
    "settlement",
    [
        sent(claim()),
        Settlement(
            claim=claim(),
            status=Status.RETRYING,
            attempts=2,
            due_at=datetime(2030, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
            last_error="451 später",
            outcomes='[["open",451,"later"]]',
            doubts=1,
            takeovers=2,
            event="failed",
            detail='{"code":451}',
        ),
        Settlement(claim=claim(), status=Status.DEAD, attempts=8, dead_reason=DeadReason.MAX_ATTEMPTS),
    ],
)
def test_a_reply_comes_back_as_it_was_noted(journal: Journal, tmp_path: Path, settlement: Settlement) -> None:
    journal.note_reply(settlement)

    assert read_memory(tmp_path, "worker").replies == {claim(): settlement}


def test_a_record_cut_off_anywhere_is_a_record_never_written(journal: Journal, tmp_path: Path) -> None:
    journal.note_dot(claim(1))
    [path] = tmp_path.glob("*.journal")
    whole = path.stat().st_size
    journal.note_dot(claim(2))
    data = path.read_bytes()
    for length in range(whole, len(data)):
        path.write_bytes(data[:length])

        assert read_memory(tmp_path, "worker").dots == {claim(1)}


def test_a_record_with_a_flipped_bit_ends_the_reading(journal: Journal, tmp_path: Path) -> None:
    for number in (1, 2, 3):
        journal.note_dot(claim(number))
    [path] = tmp_path.glob("*.journal")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)

    assert read_memory(tmp_path, "worker").dots == {claim(1)}


def test_a_living_workers_journal_is_nobodys_inheritance(journal: Journal, tmp_path: Path) -> None:
    journal.note_dot(claim())

    assert list(last_words(tmp_path)) == []
    assert has_journal(tmp_path, "worker")


def test_a_dead_workers_last_words_go_to_one_heir_at_a_time(journal: Journal, tmp_path: Path) -> None:
    journal.note_dot(claim())
    journal.close()
    [words] = last_words(tmp_path)

    assert words.memory.dots == {claim()}
    assert list(last_words(tmp_path)) == []
    words.release()
    [again] = last_words(tmp_path)
    again.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_journal_with_nothing_open_leaves_nothing_behind(journal: Journal, tmp_path: Path) -> None:
    journal.note_dot(claim())
    journal.note_reply(sent(claim()))
    journal.forget(claim())
    journal.close()

    assert list(tmp_path.iterdir()) == []


def test_a_segment_goes_when_nothing_in_it_is_open(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "worker", segment=200)
    journal.note_dot(claim(0))
    for number in range(1, 50):
        journal.note_dot(claim(number))
        journal.forget(claim(number))

    assert len(segments(tmp_path)) == 2
    assert claim(0) in read_memory(tmp_path, "worker").dots
    journal.forget(claim(0))
    assert len(segments(tmp_path)) == 1


class FailingDisk:
    """Takes `room` more bytes."""

    def __init__(self, room: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.room = room
        self._write = os.write
        monkeypatch.setattr("postroom.work.journal.os.write", self)

    def __call__(self, file: int, data: bytes) -> int:
        if not self.room:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = self._write(file, data[: self.room])
        self.room -= written
        return written


@pytest.mark.parametrize("room", [0, 1, 7, 15])
def test_no_dot_may_leave_when_it_cannot_be_noted(
    journal: Journal, tmp_path: Path, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    FailingDisk(room, monkeypatch)

    with pytest.raises(JournalFailed):
        journal.note_dot(claim())
    assert read_memory(tmp_path, "worker").dots == set()


@pytest.mark.parametrize("room", [0, 1, 7, 15])
def test_what_is_noted_after_a_torn_record_is_read(
    journal: Journal, tmp_path: Path, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were it written behind the torn one, the email would look untouched and be sent again, silently."""
    journal.note_dot(claim(1))
    disk = FailingDisk(room, monkeypatch)
    with pytest.raises(JournalFailed):
        journal.note_dot(claim(2))
    assert not journal.mend()
    disk.room = 1_000_000
    assert journal.mend()
    journal.note_dot(claim(3))

    assert read_memory(tmp_path, "worker").dots == {claim(1), claim(3)}


def test_everybody_who_works_for_one_outbox_comes_to_the_same_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    one = journal_folder("postgresql://app:secret@db/shop", "postroom")

    assert one == journal_folder("postgresql://other:word@db/shop", "postroom")
    assert one != journal_folder("postgresql://app:secret@db/blog", "postroom")
    assert one != journal_folder("postgresql://app:secret@db/shop", "another")
    assert one.parent == Path("/state/postroom")

"""A worker's own memory: what it says after a crash, what it costs, and when the disk is full."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from postroom.store.contract import Claim, Settlement
from postroom.vocabulary import DeadReason, EmailId, LeaseToken, Status
from postroom.work.journal import (
    Journal,
    JournalFailed,
    Memory,
    has_journal,
    journal_folder,
    last_words,
    read_memory,
)
from postroom.work.journal.record import SEGMENT_HEAD


def claim(number: int = 1, token: int = 1) -> Claim:
    return Claim(id=EmailId(f"email-{number}"), token=LeaseToken(token))


def sent(which: Claim) -> Settlement:
    return Settlement(claim=which, status=Status.SENT, attempts=1, reply_code=250, reply='{"text":"Ok"}')


def segments(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.journal"))


def settle_some(journal: Journal, numbers: range) -> None:
    for number in numbers:
        journal.note_dot(claim(number))
        journal.note_reply(sent(claim(number)))
        journal.forget(claim(number))


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path, "worker")


def test_a_journal_tells_dots_from_replies(journal: Journal, tmp_path: Path) -> None:
    journal.note_dot(claim(1))
    journal.note_dot(claim(2))
    journal.note_reply(sent(claim(2)))
    memory = read_memory(tmp_path, "worker")

    assert memory == Memory(dots={claim(1), claim(2)}, replies={claim(2): sent(claim(2))}, complete=True)


def test_a_dot_that_was_not_sent_after_all_is_not_remembered(journal: Journal, tmp_path: Path) -> None:
    journal.note_dot(claim())
    journal.note_undone(claim())

    assert read_memory(tmp_path, "worker") == Memory()


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


def test_the_dot_of_a_claim_that_is_given_out_twice_is_not_answered_by_the_first_reply(
    journal: Journal, tmp_path: Path
) -> None:
    """A database that lost a commit gives out the same token again."""
    journal.note_dot(claim())
    journal.note_reply(Settlement(claim=claim(), status=Status.RETRYING, attempts=1))
    journal.note_dot(claim())

    assert read_memory(tmp_path, "worker") == Memory(dots={claim()})


def test_what_was_noted_survives_a_kill(tmp_path: Path) -> None:
    """In the page cache, just as if it had been written."""
    program = f"""
import os, signal
from pathlib import Path
from postroom.work.journal import Journal
from postroom.store.contract import Claim

journal = Journal(Path({str(tmp_path)!r}), "worker")
for number in range(20_000):  # more than one segment
    journal.note_dot(Claim(f"email-{{number}}", 1))
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -signal.SIGKILL

    memory = read_memory(tmp_path, "worker")
    assert len(segments(tmp_path)) > 1
    assert memory == Memory(dots={claim(number) for number in range(20_000)})


def test_an_email_costs_no_system_call(tmp_path: Path) -> None:
    """As the kernel counts what this thread writes."""
    journal = Journal(tmp_path, "worker")
    before = _calls()
    settle_some(journal, range(300))

    assert _calls() == before


def _calls() -> tuple[int, int]:
    counted = dict(line.split(": ") for line in Path("/proc/thread-self/io").read_text().splitlines())
    return int(counted["syscw"]), int(counted["wchar"])


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


def test_a_journal_in_which_nothing_is_open_and_nothing_was_accepted_leaves_nothing_behind(
    journal: Journal, tmp_path: Path
) -> None:
    journal.note_dot(claim())
    journal.note_reply(Settlement(claim=claim(), status=Status.RETRYING, attempts=1))
    journal.forget(claim())
    journal.close()

    assert list(tmp_path.iterdir()) == []


def test_a_segment_goes_when_nothing_in_it_is_open(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "worker", segment=1_000, keep_bytes=0)
    journal.note_dot(claim(0))
    settle_some(journal, range(1, 50))
    journal.note_dot(claim(50))
    first, *others = segments(tmp_path)

    assert (first, len(others)) == ("worker.000001.journal", 1)
    assert read_memory(tmp_path, "worker").dots >= {claim(0), claim(50)}
    journal.forget(claim(0))
    settle_some(journal, range(51, 60))
    assert first not in segments(tmp_path)


def test_a_closed_journal_takes_no_more_notes(journal: Journal) -> None:
    """Its descriptor may belong to another file by now."""
    journal.close()

    with pytest.raises(JournalFailed, match="is closed"):
        journal.note_dot(claim())
    journal.note_reply(sent(claim()))  # the database hears of it
    assert not journal.mend()
    journal.close()


def test_a_reply_longer_than_a_segment_is_kept_whole(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "worker", segment=300)
    long = Settlement(claim=claim(), status=Status.SENT, attempts=1, outcomes="[" + "0," * 5_000 + "0]")
    journal.note_reply(long)
    journal.note_dot(claim(2))

    assert read_memory(tmp_path, "worker") == Memory(dots={claim(2)}, replies={claim(): long})


# ---------------------------------------------------------------- a full disk


class FailingDisk:
    """Has so many blocks for segments left."""

    def __init__(self, room: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.room = room
        self._allocate = os.posix_fallocate
        monkeypatch.setattr("postroom.work.journal.segment.os.posix_fallocate", self)

    def __call__(self, file: int, start: int, size: int) -> None:
        if self.room < size:
            self._allocate(file, start, max(self.room, 1))
            raise OSError(errno.ENOSPC, "No space left on device")
        self._allocate(file, start, size)
        self.room -= size


@pytest.fixture
def full(tmp_path: Path) -> Journal:
    """A journal whose segment has room for one short record and no more."""
    journal = Journal(tmp_path, "worker", segment=SEGMENT_HEAD + 40)
    journal.note_dot(claim(1))
    return journal


@pytest.mark.parametrize("room", [0, 1, 20])
def test_no_dot_may_leave_when_it_cannot_be_noted(
    full: Journal, tmp_path: Path, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    FailingDisk(room, monkeypatch)

    with pytest.raises(JournalFailed, match="No space left on device; make room"):
        full.note_dot(claim(2))
    assert read_memory(tmp_path, "worker") == Memory(dots={claim(1)})
    assert len(segments(tmp_path)) == 1


def test_what_is_noted_after_the_disk_was_full_is_read(
    full: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FailingDisk(0, monkeypatch)
    with pytest.raises(JournalFailed):
        full.note_dot(claim(2))
    while full.mend():  # until not even a word fits in
        pass
    disk.room = 1_000_000
    assert full.mend()
    full.note_dot(claim(3))

    assert read_memory(tmp_path, "worker") == Memory(dots={claim(1), claim(3)})


@pytest.mark.parametrize("trouble", [errno.EOPNOTSUPP, errno.EINVAL])
def test_a_file_system_that_cannot_be_asked_for_blocks_is_given_zeros(
    tmp_path: Path, trouble: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(file: int, start: int, size: int) -> None:
        raise OSError(trouble, os.strerror(trouble))

    monkeypatch.setattr("postroom.work.journal.segment.os.posix_fallocate", unknown)
    journal = Journal(tmp_path, "worker", segment=100_000)
    journal.note_dot(claim())

    assert read_memory(tmp_path, "worker") == Memory(dots={claim()})
    [path] = tmp_path.glob("*.journal")
    assert path.stat().st_blocks * 512 >= path.stat().st_size


def test_a_journal_has_its_blocks_before_it_needs_them(tmp_path: Path) -> None:
    """A store into a mapping that has none would be a signal and the end of the process."""
    journal = Journal(tmp_path, "worker")

    [path] = tmp_path.glob("*.journal")
    assert path.stat().st_blocks * 512 >= path.stat().st_size > 100_000
    journal.close()


def test_everybody_who_works_for_one_outbox_comes_to_the_same_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    one = journal_folder("postgresql://app:secret@db/shop", "postroom")

    assert one == journal_folder("postgresql://other:word@db/shop", "postroom")
    assert one != journal_folder("postgresql://app:secret@db/blog", "postroom")
    assert one != journal_folder("postgresql://app:secret@db/shop", "another")
    assert one.parent == Path("/state/postroom")


def test_a_folder_stays_where_the_releases_before_had_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a worker knew to be sent must be found after an upgrade."""
    monkeypatch.setenv("XDG_STATE_HOME", "/state")

    assert journal_folder("postgresql://app:secret@db/shop", "postroom").name == "a3c346d74baff768"
    assert journal_folder("postgresql://app@db:5433/shop?sslmode=require", "postroom").name == "5fc1c1e04915c513"
    assert journal_folder("sqlite:////srv/shop.db", "postroom").name == "4a266faa2d7383af"


@pytest.mark.parametrize(
    "other",
    ["?host=/run/blog", "?host=/run/shop&port=5433", "?host=/run/shop&dbname=blog"],
    ids=["socket", "port", "name"],
)
def test_databases_that_differ_behind_the_question_mark_have_folders_of_their_own(other: str) -> None:
    """Sharing one, a worker would take the other's journals for those of its own dead, and put away what they know."""
    one = journal_folder("postgresql:///app?host=/run/shop", "postroom")

    assert one == journal_folder("postgresql://ada@/app?sslmode=disable&host=%2Frun%2Fshop", "postroom")
    assert one != journal_folder(f"postgresql:///app{other}", "postroom")

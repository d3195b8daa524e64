"""Whatever happens to a journal, reading it raises nothing, and what it may have held is in doubt, never untouched."""

from __future__ import annotations

import json
import struct
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.store.contract import Claim, Settlement
from postroom.vocabulary import EmailId, LeaseToken, Status
from postroom.work.journal import Journal, Memory, boot, last_words, read_memory
from postroom.work.journal.record import RECORD_HEAD, SEGMENT_HEAD, framed, segment_head


def claim(number: int = 1, token: int = 1) -> Claim:
    return Claim(id=EmailId(f"email-{number}"), token=LeaseToken(token))


def sent(which: Claim) -> Settlement:
    return Settlement(claim=which, status=Status.SENT, attempts=1, reply_code=250, reply='{"text":"Ok"}')


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path, "worker", segment=2_000)


def only_segment(folder: Path) -> Path:
    [path] = folder.glob("*.journal")
    return path


def changed(folder: Path, change: Callable[[bytearray], object]) -> Memory:
    """What is read after somebody has changed the bytes of the only segment."""
    path = only_segment(folder)
    data = bytearray(path.read_bytes())
    change(data)
    path.write_bytes(data)
    return read_memory(folder, "worker")


def test_a_record_that_its_writer_was_killed_over_is_a_record_never_written(journal: Journal, tmp_path: Path) -> None:
    journal.note_dot(claim(1))
    path = only_segment(tmp_path)
    whole = len(path.read_bytes().rstrip(b"\0"))
    journal.note_dot(claim(2))
    data = path.read_bytes()
    for written in range(whole, len(data.rstrip(b"\0"))):
        path.write_bytes(data[:written].ljust(len(data), b"\0"))

        assert read_memory(tmp_path, "worker") == Memory(dots={claim(1)})


def test_a_flipped_bit_in_the_middle_is_a_doubt_and_what_follows_still_counts(journal: Journal, tmp_path: Path) -> None:
    for number in (1, 2, 3):
        journal.note_dot(claim(number))
    record = RECORD_HEAD + len(b"demail-1 1\n")
    for at in range(SEGMENT_HEAD + record, SEGMENT_HEAD + 2 * record):
        memory = changed(tmp_path, lambda data: _flip(data, at))  # noqa: B023

        assert memory == Memory(dots={claim(1), claim(3)}, complete=False)
        changed(tmp_path, lambda data: _flip(data, at))  # noqa: B023
    assert read_memory(tmp_path, "worker") == Memory(dots={claim(1), claim(2), claim(3)})


def test_a_flipped_bit_in_the_last_record_is_no_torn_tail(journal: Journal, tmp_path: Path) -> None:
    journal.note_dot(claim(1))
    journal.note_dot(claim(2))
    record = RECORD_HEAD + len(b"demail-1 1\n")
    for at in range(SEGMENT_HEAD + record, SEGMENT_HEAD + 2 * record):
        memory = changed(tmp_path, lambda data: _flip(data, at))  # noqa: B023

        assert memory == Memory(dots={claim(1)}, complete=False)
        changed(tmp_path, lambda data: _flip(data, at))  # noqa: B023


def test_a_torn_tail_with_a_later_segment_behind_it_is_damage(journal: Journal, tmp_path: Path) -> None:
    for number in range(100):
        journal.note_dot(claim(number))
    first, *_others = sorted(tmp_path.glob("*.journal"))
    data = first.read_bytes()
    first.write_bytes(data.rstrip(b"\0")[:-3].ljust(len(data), b"\0"))

    memory = read_memory(tmp_path, "worker")
    assert not memory.complete
    assert len(memory.dots) == 99


@pytest.mark.parametrize("length", [0, SEGMENT_HEAD - 1, SEGMENT_HEAD, SEGMENT_HEAD + 20, 1_000])
def test_a_segment_that_was_cut_short_is_damage(journal: Journal, tmp_path: Path, length: int) -> None:
    """Its blocks were all there from the beginning."""
    journal.note_dot(claim(1))
    journal.note_dot(claim(2))

    assert not changed(tmp_path, lambda data: data.__delitem__(slice(length, None))).complete


def test_a_damaged_head_costs_no_record(journal: Journal, tmp_path: Path) -> None:
    journal.note_dot(claim(1))
    for at in range(SEGMENT_HEAD):
        assert changed(tmp_path, lambda data: _flip(data, at)) == Memory(dots={claim(1)}, complete=False)  # noqa: B023
        changed(tmp_path, lambda data: _flip(data, at))  # noqa: B023


def test_a_segment_that_cannot_be_read_is_a_doubt(journal: Journal, tmp_path: Path) -> None:
    """A folder in its place gives an error to everybody, to root as well."""
    journal.note_dot(claim(1))
    path = only_segment(tmp_path)
    path.unlink()
    path.mkdir()

    assert read_memory(tmp_path, "worker") == Memory(complete=False)


@pytest.mark.parametrize("lock", [b"", b"\xff\xfe", b"another start of the machine\njournal 2\n"])
def test_a_lock_that_says_nothing_is_a_doubt(journal: Journal, tmp_path: Path, lock: bytes) -> None:
    journal.note_dot(claim(1))
    (tmp_path / "worker.lock").write_bytes(lock)

    assert read_memory(tmp_path, "worker") == Memory(dots={claim(1)}, complete=False)


# ---------------------------------------------------------------- other versions


def write_segment(folder: Path, *bodies: bytes) -> None:
    """A segment with these records, and a lock that knows nothing else."""
    data = b"".join(map(framed, bodies))
    (folder / "worker.000001.journal").write_bytes(segment_head(SEGMENT_HEAD + len(data)) + data)
    (folder / "worker.lock").write_text(f"{boot()}\njournal 2\n")


def reply(**members: object) -> bytes:
    known = {"id": "email-1", "token": 1, "status": "sent", "attempts": 1, "doubts": 0, "takeovers": 0}
    return b"r" + json.dumps(known | members).encode() + b"\n"


def test_a_reply_with_members_that_nobody_knows_is_read_for_those_we_know(tmp_path: Path) -> None:
    write_segment(tmp_path, b"demail-1 1\n", reply(route="express", reply_code=250, reply='{"text":"Ok"}'))

    assert read_memory(tmp_path, "worker") == Memory(dots={claim()}, replies={claim(): sent(claim())})


@pytest.mark.parametrize(
    "body",
    [
        reply(status="delivered"),
        reply(attempts=None),
        reply(attempts="one"),
        reply(attempts=1 << 40),
        reply(due_at="soon"),
        reply(dead_reason="boredom"),
        b'r{"id":"email-1","token":1}\n',
    ],
)
def test_a_reply_that_cannot_be_understood_is_a_dot_without_one(tmp_path: Path, body: bytes) -> None:
    write_segment(tmp_path, b"demail-1 1\n", body, b"demail-2 1\n")

    assert read_memory(tmp_path, "worker") == Memory(dots={claim(1), claim(2)}, complete=False)


@pytest.mark.parametrize(
    "body",
    [
        *(b"x", b"xsomething new\n"),
        *(b"d\n", b"demail-1\n", b"demail-1 one\n", b"d\xff 1\n"),
        *(b"r[]\n", b"r\n", b"r{\n", b"r" + b"[" * 100_000 + b"\n"),
        *(b'r{"id":1,"token":1}\n', b'r{"id":"email-1","token":' + b"9" * 5_000 + b"}\n"),
    ],
)
def test_a_record_that_nobody_understands_is_a_doubt_and_nothing_worse(tmp_path: Path, body: bytes) -> None:
    write_segment(tmp_path, b"demail-1 1\n", body, b"demail-2 1\n")

    assert read_memory(tmp_path, "worker") == Memory(dots={claim(1), claim(2)}, complete=False)


def test_a_segment_of_a_later_version_is_not_guessed_at(journal: Journal, tmp_path: Path) -> None:
    journal.note_dot(claim(1))

    def later(data: bytearray) -> None:
        data[8:12] = (3).to_bytes(4, "little")
        data[SEGMENT_HEAD - 4 : SEGMENT_HEAD] = zlib.crc32(data[: SEGMENT_HEAD - 4]).to_bytes(4, "little")

    assert changed(tmp_path, later) == Memory(complete=False)


def old_record(body: bytes) -> bytes:
    return struct.pack("<II", len(body), zlib.crc32(body)) + body


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """The journal of a worker of version 1: records appended one after another, a lock of one line."""
    records = [b"demail-1 1", b"demail-2 1", b"r" + json.dumps(sent(claim(2)).as_row()).encode(), b"demail-3 1"]
    (tmp_path / "old.000001.journal").write_bytes(b"".join(map(old_record, records)))
    (tmp_path / "old.lock").write_text(boot())
    return tmp_path / "old.000001.journal"


def test_a_journal_that_was_appended_to_is_still_read(old: Path) -> None:
    [words] = last_words(old.parent)

    assert words.memory == Memory(dots={claim(1), claim(2), claim(3)}, replies={claim(2): sent(claim(2))})
    assert words.gone_for() < 60
    words.release()


def test_what_was_cut_off_at_its_end_was_never_written(old: Path) -> None:
    data = old.read_bytes()
    for length in range(len(data) - len(old_record(b"demail-3 1")), len(data)):
        old.write_bytes(data[:length])

        assert read_memory(old.parent, "old") == Memory(
            dots={claim(1), claim(2)}, replies={claim(2): sent(claim(2))}, complete=True
        )


def test_a_record_cut_off_by_a_full_disk_before_the_next_segment_was_never_written(old: Path) -> None:
    data = old.read_bytes()
    old.write_bytes(data[:-4])
    (old.parent / "old.000002.journal").write_bytes(old_record(b"demail-4 1"))

    assert read_memory(old.parent, "old").dots == {claim(1), claim(2), claim(4)}
    assert read_memory(old.parent, "old").complete


def test_damage_in_the_middle_of_an_old_journal_is_a_doubt(old: Path) -> None:
    record = len(old_record(b"demail-1 1"))
    data = bytearray(old.read_bytes())
    for at in range(record, 2 * record):
        _flip(data, at)
        old.write_bytes(data)
        memory = read_memory(old.parent, "old")
        _flip(data, at)

        assert (memory.dots, memory.complete) == ({claim(1), claim(3)}, False)
        assert memory.replies == {claim(2): sent(claim(2))}


def test_an_old_worker_takes_nothing_for_untouched_that_a_new_one_noted(journal: Journal, tmp_path: Path) -> None:
    """It compares the lock with the start of the machine alone: one that says more is from before a power cut to it."""
    assert (tmp_path / "worker.lock").read_text() != boot()


# ---------------------------------------------------------------- anything at all

Damage = Callable[[bytearray], None]


def _flip(data: bytearray, at: int, mask: int = 1) -> None:
    if data:
        data[at % len(data)] ^= mask


def _insert(data: bytearray, at: int, what: bytes) -> None:
    data[at % (len(data) + 1) : at % (len(data) + 1)] = what


def _delete(data: bytearray, at: int, count: int) -> None:
    start = at % (len(data) + 1)
    del data[start : start + count]


places = st.integers(0, 2_000)
flips = st.builds(lambda at, mask: lambda data: _flip(data, at, mask), places, st.integers(1, 255))
inserts = st.builds(lambda at, what: lambda data: _insert(data, at, what), places, st.binary(min_size=1, max_size=40))
deletions = st.builds(lambda at, count: lambda data: _delete(data, at, count), places, st.integers(1, 60))
cuts = st.builds(lambda at: lambda data: data.__delitem__(slice(at, None)), places)
damages: st.SearchStrategy[list[Damage]] = st.lists(st.one_of(flips, inserts, deletions, cuts), min_size=1, max_size=4)

stories = st.lists(st.tuples(st.sampled_from("dur"), st.integers(1, 6)), min_size=1, max_size=40)


@given(stories, st.integers(0, 5), damages)
def test_no_email_whose_dot_was_noted_is_ever_taken_for_untouched(
    said: list[tuple[str, int]], which: int, damage: list[Damage]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        noted = _say(Journal(folder, "worker", segment=400), said)
        paths = sorted(folder.glob("*.journal"))
        path = paths[which % len(paths)]
        data = bytearray(path.read_bytes())
        for change in damage:
            change(data)
        path.write_bytes(data)
        memory = read_memory(folder, "worker")

    untouched = {each for each in noted if memory.complete and each not in memory.dots and each not in memory.replies}
    assert untouched == set()


def _say(journal: Journal, said: list[tuple[str, int]]) -> set[Claim]:
    """Note it, kill the worker, and tell whose dot may have left."""
    noted: set[Claim] = set()
    for word, number in said:
        which = claim(number)
        if word == "d":
            journal.note_dot(which)
            noted.add(which)
        elif word == "u":
            journal.note_undone(which)
            noted.discard(which)
        elif which in noted:
            journal.note_reply(sent(which))
    journal.forget_parent()  # lets go of everything and leaves the files as they are
    return noted


@given(st.binary(max_size=300), st.binary(max_size=300), st.binary(max_size=60))
def test_files_full_of_anything_raise_nothing(first: bytes, second: bytes, lock: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "worker.000001.journal").write_bytes(first)
        (folder / "worker.000002.journal").write_bytes(second)
        (folder / "worker.lock").write_bytes(lock)
        [left] = last_words(folder)
        assert left.gone_for() >= 0
        assert not left.memory.complete
        left.release()

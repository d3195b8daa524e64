"""How long a journal keeps what was accepted, and how much of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from postroom.store.contract import Claim, Settlement
from postroom.vocabulary import EmailId, LeaseToken, Status
from postroom.work.journal import Journal, accepted_in, last_words, lock


def settled(journal: Journal, number: int, status: Status = Status.SENT) -> EmailId:
    """An email that was sent, and that the database knows of."""
    claim = Claim(EmailId(f"email-{number}"), LeaseToken(1))
    journal.note_dot(claim)
    journal.note_reply(Settlement(claim=claim, status=status, attempts=1, reply_code=250))
    journal.forget(claim)
    return claim.id


def on_disk(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("*.journal"))


def test_what_was_accepted_is_known_after_the_database_knows_it(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "worker")
    id = settled(journal, 1)
    known = journal.accepted(id)

    assert known is not None
    assert known.settlement.reply_code == 250
    assert (known.worker, known.version) == ("worker", 1)


def test_what_was_not_accepted_is_not(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "worker")

    assert journal.accepted(settled(journal, 1, Status.RETRYING)) is None
    assert journal.accepted(settled(journal, 2, Status.DEAD)) is None


def test_it_is_known_across_segments_and_within_bounds(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "worker", segment=4_000, keep_bytes=40_000)
    ids = [settled(journal, number) for number in range(2_000)]
    known = [journal.accepted(id) is not None for id in ids]

    assert on_disk(tmp_path) <= 40_000 + 2 * 4_000
    assert known == sorted(known)  # the newest
    assert 200 < sum(known) < 400
    assert len(journal._accepted) == sum(known)


def test_it_is_dropped_when_its_time_is_over(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "worker", segment=4_000, keep_seconds=0.0)
    first = settled(journal, 1)
    for number in range(2, 200):
        settled(journal, number)

    assert journal.accepted(first) is None
    assert on_disk(tmp_path) <= 2 * 4_000


def test_a_segment_that_is_gone_is_no_trouble(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "worker")
    id = settled(journal, 1)
    [path] = tmp_path.glob("*.journal")
    path.unlink()

    assert journal.accepted(id) is None


def test_a_closed_journal_keeps_what_was_accepted_and_no_more_of_the_disk_than_that(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "worker")
    id = settled(journal, 1)
    journal.close()
    [[known]] = accepted_in(tmp_path, "worker")
    [words] = last_words(tmp_path)

    assert known.settlement.claim.id == id
    assert on_disk(tmp_path) < 1_000
    assert words.memory.complete
    words.release()


@pytest.mark.parametrize(("minutes", "there"), [(5, True), (11, False)])
def test_the_next_journal_in_the_folder_clears_away_what_was_closed_long_ago(
    tmp_path: Path, minutes: int, there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An application that sends inline may be alone there."""
    journal = Journal(tmp_path, "closed")
    settled(journal, 1)
    journal.close()
    left_open = Journal(tmp_path, "dead")
    left_open.note_dot(Claim(EmailId("email-2"), LeaseToken(1)))
    left_open.close()
    now = lock.time.monotonic()
    monkeypatch.setattr(lock.time, "monotonic", lambda: now + 60 * minutes)
    Journal(tmp_path, "next").close()

    assert (tmp_path / "closed.lock").exists() is there
    assert (tmp_path / "dead.lock").exists()

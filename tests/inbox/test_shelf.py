"""How mail is kept, found and thrown away."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from postroom.errors import ConfigurationError
from postroom.inbox.shelf import Room, Shelf, Wanted
from postroom.testing.record import ReceivedMessage
from tests.inbox.post import plain


def received(subject: str, *, to: str = "ada@example.org", text: str = "Hello") -> ReceivedMessage:
    return ReceivedMessage(
        sender="grace@example.org",
        recipients=(to,),
        data=bytes(plain(subject, text=text)),
        message_id=f"<{subject}@example.org>",
        accepted=True,
        connection=1,
        at=1_700_000_000.0,
    )


@pytest.fixture
def shelf() -> Iterator[Shelf]:
    shelf = Shelf()
    yield shelf
    shelf.close()


def subjects(shelf: Shelf, **wanted: object) -> list[str]:
    return [message.subject for message in shelf.list(Wanted(**wanted))]  # type: ignore[arg-type]


def test_the_newest_come_first_and_pages_follow_each_other(shelf: Shelf) -> None:
    for number in range(5):
        shelf.keep(received(str(number)))
    first = shelf.list(Wanted(limit=2))
    second = shelf.list(Wanted(limit=2, before=first[-1].id))

    assert [message.subject for message in (*first, *second)] == ["4", "3", "2", "1"]
    assert subjects(shelf, after=second[0].id) == ["4", "3"]
    assert shelf.count(Wanted(limit=2)) == 5


@pytest.mark.parametrize("words", ["ÄPFEL", "grace@", "<äpfel und", "breakfast", "seven to"])
def test_a_search_finds_subject_addresses_message_id_and_text_in_any_case(shelf: Shelf, words: str) -> None:
    shelf.keep(received("Äpfel und Birnen", text="Breakfast is from SEVEN to ten."))

    assert subjects(shelf, words=words) == ["Äpfel und Birnen"]


@pytest.mark.parametrize("words", ["%", "_", "\\", "a_a", "' OR 1=1 --"])
def test_a_search_takes_words_at_their_word(shelf: Shelf, words: str) -> None:
    shelf.keep(received("aba"))

    assert subjects(shelf, words=words) == []


def test_mail_to_one_recipient_can_be_asked_for(shelf: Shelf) -> None:
    shelf.keep(received("one", to="Ada@example.org"))
    shelf.keep(received("two", to="ada@example.organic"))

    assert subjects(shelf, recipient="ada@EXAMPLE.org") == ["one"]


def test_the_oldest_make_room_and_the_newest_always_stays() -> None:
    shelf = Shelf(room=Room(messages=10, octets=1_000_000))
    for number in range(25):
        shelf.keep(received(str(number)))
    kept = subjects(shelf)
    shelf.keep(received("large", text="x" * 70 + "\n" + "long line\n" * 120_000))

    assert kept[0] == "24"
    assert len(kept) <= 10
    assert subjects(shelf) == ["large"]
    shelf.close()


def test_an_id_is_never_used_again(shelf: Shelf) -> None:
    shelf.keep(received("one"))
    (first,) = shelf.list(Wanted())

    assert shelf.delete(first.id)
    assert not shelf.delete(first.id)

    shelf.keep(received("two"))
    (second,) = shelf.list(Wanted())

    assert second.id > first.id
    assert shelf.get(first.id) is None
    assert shelf.source(first.id) is None


def test_all_can_be_deleted_and_copies_are_counted(shelf: Shelf) -> None:
    for subject in ("one", "two", "two"):
        shelf.keep(received(subject))

    assert shelf.copies() == {"<one@example.org>": 1, "<two@example.org>": 2}
    assert shelf.delete_all() == 3
    assert shelf.copies() == {}


def test_whoever_waits_is_woken_by_a_message_and_by_the_end(shelf: Shelf) -> None:
    answers: list[bool] = []
    waiting = threading.Thread(target=lambda: answers.append(shelf.wait_until(lambda: shelf.count(Wanted()) == 1, 30)))
    waiting.start()
    shelf.keep(received("one"))
    waiting.join(timeout=30)
    shelf.stop_waiting()

    assert answers == [True]
    assert not shelf.wait_until(lambda: False, 30)


def test_a_file_that_cannot_be_opened_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="name another file"):
        Shelf(tmp_path / "no" / "such" / "folder" / "inbox.db")


def test_deleted_mail_is_gone_from_the_file(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "inbox.db")
    shelf.keep(received("one", text="a password: xyzzy-secret"))
    shelf.delete_all()
    shelf.close()

    assert b"xyzzy-secret" not in (tmp_path / "inbox.db").read_bytes()


def test_a_new_file_is_for_its_owner_only(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "inbox.db")
    shelf.keep(received("one"))

    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
    shelf.close()

"""Who may open an outbox on SQLite: its owner, unless somebody chose otherwise."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from postroom import AsyncOutbox, Email, Outbox


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()}


def test_a_new_outbox_is_for_its_owner_only_with_what_sqlite_puts_beside_it(tmp_path: Path) -> None:
    with Outbox(f"sqlite:///{tmp_path}/app.db") as outbox:
        outbox.migrate()
        outbox.enqueue(Email(to="ada@example.org", text="Hi"))

        assert modes(tmp_path) == {"app.db": 0o600, "app.db-wal": 0o600, "app.db-shm": 0o600}


async def test_so_is_one_that_an_event_loop_makes(tmp_path: Path) -> None:
    async with AsyncOutbox(f"sqlite:///{tmp_path}/app.db") as outbox:
        await outbox.migrate()
        await outbox.enqueue(Email(to="ada@example.org", text="Hi"))

        assert set(modes(tmp_path).values()) == {0o600}


def test_one_behind_a_link_too(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link.db").symlink_to(tmp_path / "there" / "app.db")
    with Outbox(f"sqlite:///{tmp_path}/link.db") as outbox:
        outbox.migrate()

        assert set(modes(tmp_path / "there").values()) == {0o600}


def test_the_mode_of_a_file_that_is_there_is_its_owners_choice(tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "app.db").close()
    (tmp_path / "app.db").chmod(0o640)
    with Outbox(f"sqlite:///{tmp_path}/app.db") as outbox:
        outbox.migrate()

        assert set(modes(tmp_path).values()) == {0o640}


def test_a_connection_that_could_not_be_made_ready_is_closed(tmp_path: Path) -> None:
    """Whoever keeps the error, with all its frames, keeps no file open by it; Python 3.13 complains of such ones."""
    path = tmp_path / "outbox.db"
    path.write_bytes(b"This is no database. " * 1_000)
    with Outbox(f"sqlite:///{path}") as outbox, pytest.raises(sqlite3.DatabaseError) as kept:
        outbox.counts()

    open_files = {os.path.realpath(each) for each in Path("/proc/self/fd").iterdir()}
    assert str(path) not in open_files
    assert kept.value.__traceback__ is not None

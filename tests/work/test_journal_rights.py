"""Journals and users: whose folder it is, who may read what is in it, and what happens to those who may not.

The programs below load what they need as root and then become somebody else: so these tests need to be run as root.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from postroom import Outbox, Status
from postroom.store.contract import Claim
from postroom.vocabulary import EmailId, LeaseToken
from postroom.work.journal import Journal, JournalFailed, Memory, read_memory
from tests.store.journey import Clock, claim, enqueue

APPLICATION, WORKER, GROUP = 12345, 65534, 23456

BEFORE = """
import asyncio, concurrent.futures.thread, json, os, structlog, sys  # also what others import when they need it
from datetime import timedelta
from pathlib import Path
from postroom.store.contract import Claim
from postroom.store.open import open_async_database
from postroom.store.schema import migrations
from postroom.work.journal import Journal, JournalFailed, last_words, read_memory
from postroom.work.recovery import Recovery
from postroom.cli.journal_checks import check_journals
from postroom.config import Settings

folder = Path(sys.argv[1])
database = open_async_database(f"sqlite:///{folder}/outbox.db")  # reads our own files; nothing is connected yet
migrations("sqlite")  # so does whoever compares the schema with them
settings = Settings(database="sqlite:///outbox.db", journal=folder / "journals")
user, groups = int(sys.argv[2]), json.loads(sys.argv[3])
os.setgroups(groups)
os.setgid(user)
os.setuid(user)
os.umask(0o077)

def descriptors():
    return sorted(os.listdir("/proc/self/fd"))
"""


def run_as(user: int, program: str, folder: Path, *, groups: tuple[int, ...] = ()) -> Any:
    """What a program prints, as JSON, when it is run by somebody else."""
    if os.geteuid() != 0:
        pytest.fail("this test becomes other users: run it as root")
    arguments = [sys.executable, "-c", BEFORE + program, str(folder), str(user), json.dumps(groups)]
    finished = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout)


@pytest.fixture
def folder() -> Iterator[Path]:
    """One that everybody can get to."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


NOTE_AND_DIE = """
journal = Journal(folder / "journals", "application")
journal.note_dot(Claim("email-1", 1))
print(json.dumps(os.listdir(folder / "journals")), flush=True)
os._exit(0)
"""

LOOK = """
memory = read_memory(folder / "journals", "application")
heard = [words.worker for words in last_words(folder / "journals")]
print(json.dumps([memory.complete, len(memory.dots), heard]))
"""

FAIL = """
before = descriptors()
said = []
for _ in range(3):
    try:
        Journal(folder / "journals", "worker")
    except JournalFailed as error:
        said.append(str(error))
print(json.dumps([said, descriptors() == before, os.listdir(folder)]))
"""


def test_a_folder_of_another_user_is_an_error_that_names_it_and_the_remedy(folder: Path) -> None:
    (folder / "journals").mkdir(mode=0o700)
    [first, *others], nothing_leaked, _left = run_as(WORKER, FAIL, folder)

    assert str(folder / "journals") in first
    assert f"belongs to user {os.geteuid()}" in first
    assert f"we are user {WORKER}" in first
    assert "POSTROOM_JOURNAL" in first
    assert others == [first, first]
    assert nothing_leaked


def test_so_is_a_folder_that_cannot_be_made(folder: Path) -> None:
    """A service user without a home."""
    [first, *_others], nothing_leaked, left = run_as(WORKER, FAIL, folder)

    assert f"make it for user {WORKER}, or set POSTROOM_JOURNAL" in first
    assert (nothing_leaked, left) == (True, [])


def test_so_is_a_file_in_its_place(tmp_path: Path) -> None:
    """Whoever we are."""
    (tmp_path / "journals").write_text("")
    before = len(os.listdir("/proc/self/fd"))

    with pytest.raises(JournalFailed, match="POSTROOM_JOURNAL"):
        Journal(tmp_path / "journals", "worker")
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_disk_that_is_full_at_the_start_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("postroom.work.journal.segment.os.posix_fallocate", full)
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(JournalFailed, match="No space left"):
        Journal(tmp_path, "worker")

    assert list(tmp_path.iterdir()) == []
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_journal_is_for_its_user_alone(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journals", "worker")

    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "journals").iterdir()} == {0o600}
    assert (tmp_path / "journals").stat().st_mode & 0o777 == 0o700
    journal.close()


def test_in_a_groups_folder_users_settle_for_each_other(folder: Path) -> None:
    """Set up as the how-to says: a common group, and setgid."""
    shared = folder / "journals"
    shared.mkdir()
    os.chown(shared, -1, GROUP)
    shared.chmod(0o2770)
    run_as(APPLICATION, NOTE_AND_DIE, folder, groups=(GROUP,))

    assert {(path.stat().st_mode & 0o777, path.stat().st_gid) for path in shared.iterdir()} == {(0o660, GROUP)}
    assert run_as(WORKER, LOOK, folder, groups=(GROUP,)) == [True, 1, ["application"]]


def test_files_go_to_the_folders_group_without_setgid_too(folder: Path) -> None:
    shared = folder / "journals"
    shared.mkdir()
    os.chown(shared, -1, GROUP)
    shared.chmod(0o770)
    run_as(APPLICATION, NOTE_AND_DIE, folder, groups=(GROUP,))

    assert run_as(WORKER, LOOK, folder, groups=(GROUP,)) == [True, 1, ["application"]]


def test_a_journal_that_is_not_for_us_is_out_of_reach_and_no_error(folder: Path) -> None:
    (folder / "journals").mkdir()
    os.chown(folder / "journals", APPLICATION, -1)
    (folder / "journals").chmod(0o755)
    run_as(APPLICATION, NOTE_AND_DIE, folder)

    assert run_as(WORKER, LOOK, folder) == [False, 0, []]


@pytest.mark.parametrize("mode", [0o711, 0o000])
def test_a_folder_that_may_not_be_looked_into_says_nothing(folder: Path, mode: int) -> None:
    """That no segment is seen does not mean that there is none."""
    journal = Journal(folder / "journals", "application")
    journal.note_dot(Claim(EmailId("email-1"), LeaseToken(1)))
    (folder / "journals" / "application.lock").chmod(0o666)
    (folder / "journals").chmod(mode)

    assert run_as(WORKER, LOOK, folder) == [False, 0, []]
    assert read_memory(folder / "journals", "application") == Memory(dots={Claim(EmailId("email-1"), LeaseToken(1))})


SWEEP = """
async def sweep():
    try:
        recovery = Recovery(database, worker="heir", lease=timedelta(seconds=30), journals=folder / "journals")
        return await recovery.sweep(keep_sent=True)
    finally:
        await database.close()

print(json.dumps(asyncio.run(sweep())))
"""


def test_an_email_whose_journal_is_out_of_reach_is_in_doubt(folder: Path) -> None:
    """The worker goes on, and nothing of it is taken for untouched."""
    (folder / "journals").mkdir()
    os.chown(folder / "journals", APPLICATION, -1)
    (folder / "journals").chmod(0o755)
    os.chown(folder, WORKER, -1)
    url = f"sqlite:///{folder}/outbox.db"
    hour_ago = Clock()
    hour_ago.advance(hours=-1)
    with Outbox(url, clock=hour_ago) as outbox:
        outbox.migrate()
        [id] = enqueue(outbox)
        [claimed] = claim(outbox, worker="application")
    run_as(APPLICATION, NOTE_AND_DIE.replace('"email-1", 1', f'"{id}", {claimed.claim.token}'), folder)
    for path in folder.glob("outbox.db*"):
        os.chown(path, WORKER, WORKER)

    assert run_as(WORKER, SWEEP, folder) == 1
    with Outbox(url) as outbox:
        assert (outbox.get(id).status, outbox.get(id).doubts) == (Status.IN_DOUBT, 1)


DOCTOR = """
print(json.dumps([[found.level, found.detail, found.remedy] for found in check_journals(settings)]))
"""


def test_the_doctor_tells_whose_journals_cannot_be_read(folder: Path) -> None:
    shared = folder / "journals"
    shared.mkdir()
    os.chown(shared, APPLICATION, GROUP)
    shared.chmod(0o750)
    run_as(APPLICATION, NOTE_AND_DIE, folder)
    shared.chmod(0o2770)
    [[level, detail, remedy]] = run_as(WORKER, DOCTOR, folder, groups=(GROUP,))

    assert level == "warn"
    assert f"journals of user {APPLICATION}" in detail
    assert "chmod 2770" in remedy


def test_the_doctor_tells_that_a_folder_is_not_ours(folder: Path) -> None:
    (folder / "journals").mkdir(mode=0o700)
    [[level, detail, _remedy]] = run_as(WORKER, DOCTOR, folder)

    assert level == "fail"
    assert f"{folder / 'journals'} cannot be written by" in detail

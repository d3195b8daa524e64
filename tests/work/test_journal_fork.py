"""Journals and forks: a child neither writes into its parent's journal nor makes a dead parent look alive."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from postroom.store.contract import Claim
from postroom.vocabulary import EmailId, LeaseToken
from postroom.work.journal import last_words
from tests.work.office import PATIENCE

PROGRAM = """
import os, sys
from pathlib import Path
from postroom.errors import JournalFailed
from postroom.store.contract import Claim
from postroom.work.journal import Journal, last_words

folder, held = Path(sys.argv[1]), sys.argv[2]
journal = Journal(folder, "parent")
journal.note_dot(Claim("email-1", 1))
if held == "last words":
    journal.close()
    [words] = last_words(folder)
if os.fork():
    sys.stdin.read()  # until it is killed
try:
    journal.note_dot(Claim("email-2", 1))
    said = "noted"
except JournalFailed as error:
    said = str(error)
assert journal.accepted("email-1") is None
journal.close()
Journal(folder, "child").note_dot(Claim("email-3", 1))
print(os.getpid(), said, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("held", ["its own journal", "last words"])
def test_a_dead_parents_journal_is_free_although_its_child_lives(tmp_path: Path, held: str) -> None:
    arguments = [sys.executable, "-c", PROGRAM, str(tmp_path), held]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        _kill_parent_and_look(program, tmp_path, held)


def _kill_parent_and_look(program: subprocess.Popen[str], folder: Path, held: str) -> None:
    assert program.stdout is not None
    assert program.stdin is not None
    child, _, said = program.stdout.readline().strip().partition(" ")
    assert [words.worker for words in last_words(folder)] == []
    program.send_signal(signal.SIGKILL)
    program.wait(PATIENCE)
    found = list(last_words(folder))
    os.kill(int(child), 0)  # it lives

    assert [words.worker for words in found] == ["parent"]
    assert found[0].memory.dots == {Claim(EmailId("email-1"), LeaseToken(1))}
    assert found[0].memory.complete
    assert said.endswith("belongs to the parent of this process" if held == "its own journal" else "is closed")
    for words in found:
        words.release()
    program.stdin.close()  # the child reads its end and ends
    assert program.stdout.read() == ""

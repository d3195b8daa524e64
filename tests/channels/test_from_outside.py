"""A channel from outside the package: the very code of the how-to, found by its entry point, on both stores."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.documentation.page import ROOT, Page

PAGE = ROOT / "docs" / "how-to" / "add-a-channel.md"

PROGRAM = """
import asyncio, sys
from pathlib import Path

from postroom_note import Note

from postroom import Email, Status
from postroom.errors import InvalidEmail
from tests.channels.house import House

board = Path("board/notes.txt")
house = House(sys.argv[1], Path("."), routes={"notes": {"transport": f"note://{board}"}})
ids = [house.outbox.enqueue(Note(to="Ada", text=f"Note {number}."), policy="quick").id for number in range(20)]
asyncio.run(house.work())
waiting = [house.outbox.get(id) for id in ids]
assert {email.status for email in waiting} <= {Status.PENDING, Status.RETRYING}, waiting
assert any("no folder" in (email.last_error or "") for email in waiting)

board.parent.mkdir()
for email in waiting:
    house.outbox.cancel(email.id)
    house.outbox.replay(email.id)
asyncio.run(house.open_routes_and_work())
assert {house.outbox.get(id).status for id in ids} == {Status.SENT}
assert sorted(board.read_text().splitlines()) == sorted(f"Ada: Note {number}." for number in range(20))
assert house.outbox.letter(ids[0]).text == "Note 0."
assert house.outbox.conservation().holds

first = house.outbox.enqueue(Note(to="Ada", text="Hm."))
house.outbox.cancel(first.id)
try:
    house.outbox.replay(first.id, text="Hm!")
except InvalidEmail as error:
    assert "what leaves by note cannot be corrected" in str(error)
else:
    raise AssertionError("it was corrected")
house.outbox.close()
print("all is well")
"""


def install(folder: Path) -> None:
    """What installing the page's package leaves in a folder."""
    files = {block.file: block.text for block in Page.read(PAGE).blocks() if block.file}
    (folder / "postroom_note.py").write_text(files["postroom_note.py"])
    named = re.search(r'\[project.entry-points."postroom.channels"\]\n(\w+) = "(.+)"', files["pyproject.toml"])
    assert named is not None
    record = folder / "postroom_note-1.0.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: postroom-note\nVersion: 1.0\n")
    (record / "entry_points.txt").write_text(f"[postroom.channels]\n{named[1]} = {named[2]}\n")


def test_a_channel_is_added_from_outside_and_served_by_a_worker(tmp_path: Path, database_url: str) -> None:
    install(tmp_path)
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, database_url],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert result.stdout == "all is well\n", result.stderr[-4000:]


def test_the_channel_of_the_page_is_as_short_as_it_says() -> None:
    files = {block.file: block.text for block in Page.read(PAGE).blocks() if block.file}
    lines = [line for line in files["postroom_note.py"].splitlines() if line.strip()]

    assert len(lines) <= 60

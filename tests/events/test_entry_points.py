"""A listener of another package: found by its entry point, run in the transaction of the change."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from postroom import Status
from tests.work.office import Office

PACKAGE = '''
from collections.abc import Sequence

from postroom.events import Changed, Plan, ask_sql


def count(changed: Sequence[Changed]) -> Plan[None]:
    """How many of each kind were sent."""
    for each in changed:
        if each.change == "sent":
            yield ask_sql("UPDATE tally SET sent = sent + 1 WHERE kind = :kind", kind=each.kind)


def trouble(changed: Sequence[Changed]) -> Plan[None]:
    yield ask_sql("UPDATE tally SET sent = 1000")
    raise ValueError("for ada@example.org")
'''


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder with a package in it, as pip would have put it there."""
    site = tmp_path / "site"
    about = site / "tallying-1.0.dist-info"
    about.mkdir(parents=True)
    (site / "tallying.py").write_text(PACKAGE)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: tallying\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[postroom.listeners]\ntally = tallying:count\ntrouble = tallying:trouble\n"
    )
    return site


def run(office: Office, site: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "postroom.cli", "worker", "--until-idle"],
        env=os.environ | office.environment() | {"PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_it_is_part_of_every_settle_of_a_worker_and_one_that_fails_is_not(office: Office, installed: Path) -> None:
    office.sql("CREATE TABLE tally (kind text, sent integer)")
    office.sql("INSERT INTO tally VALUES ('invoice', 0), ('news', 0)")
    ids = [*office.enqueue(3, kind="invoice"), *office.enqueue(2, kind="news")]

    done = run(office, installed)

    assert done.returncode == 0, done.stderr
    assert office.statuses(ids) == {Status.SENT}
    assert sorted(map(tuple, office.sql("SELECT kind, sent FROM tally"))) == [("invoice", 3), ("news", 2)]
    assert '"listener": "trouble"' in done.stderr
    assert "ada@example.org" not in done.stderr


def test_one_that_cannot_be_loaded_is_told_of_at_the_start(office: Office, installed: Path) -> None:
    (installed / "tallying.py").write_text("import a_package_that_is_not_there")
    office.enqueue(1)

    done = run(office, installed)

    assert done.returncode == 2
    assert "the listener tally cannot be loaded" in done.stderr

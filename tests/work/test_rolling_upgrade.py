"""An upgrade that rolls: the worker of the version before works on beneath the new schema, beside the new one.

The version before is taken out of the repository's own history, as it was, and run as it was: its command, its
statements, its SMTP. Where there is no history (an unpacked source distribution, a shallow clone) the test fails and
says so, for it could only pretend otherwise.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from postroom import DeadReason, Outbox, Status
from postroom.store.schema import migrations
from tests.work.late import late, write_portal
from tests.work.office import PATIENCE, Office

ROOT = Path(__file__).resolve().parents[2]
BEFORE = "d096e60"
"""The last commit whose newest migration is 0006; the next release takes its place here."""


@pytest.fixture(scope="session")
def version_before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the code of the version before can be imported from."""
    found = subprocess.run(["git", "archive", BEFORE, "src"], cwd=ROOT, capture_output=True, check=False)
    if found.returncode:
        pytest.fail(
            f"the history of the repository, with commit {BEFORE}, is needed to run the version before: work in a "
            f"clone, and in a shallow one run `git fetch --unshallow` first ({found.stderr.decode().strip()})"
        )
    folder = tmp_path_factory.mktemp("version-before")
    with tarfile.open(fileobj=io.BytesIO(found.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder / "src"


def run(source: Path, office: Office, *command: str) -> str:
    """A command of one of the two versions; what it said."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("POSTROOM_")}
    ended = subprocess.run(
        [sys.executable, "-m", "postroom.cli", *command],
        env=kept | office.environment() | {"PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout + ended.stderr


def test_the_worker_of_the_version_before_sends_beneath_the_new_schema(office: Office, version_before: Path) -> None:
    shipped = {int(path.name[:4]) for path in version_before.glob("postroom/store/sqlite/migrations/*.sql")}
    ids = office.enqueue(20)
    run(version_before, office, "worker", "--until-idle")

    assert shipped < {migration.version for migration in migrations("sqlite")}
    assert office.statuses(ids) == {Status.SENT}
    assert set(office.server.copies_of_all().values()) == {1}
    assert office.outbox.conservation().holds


def test_both_versions_serve_what_either_has_enqueued(office: Office, version_before: Path) -> None:
    """Old application and new worker, new application and old worker."""
    run(version_before, office, "send", "--to", "ada@example.org", "--subject", "Old", "--text", "Hello")
    run(ROOT / "src", office, "worker", "--until-idle")
    assert office.order_of_arrival() == ["Old"]

    run(ROOT / "src", office, "send", "--to", "ada@example.org", "--subject", "New", "--text", "Hello")
    run(version_before, office, "worker", "--until-idle")
    assert office.order_of_arrival() == ["Old", "New"]
    assert office.outbox.conservation().holds


def test_a_database_of_the_version_before_is_upgraded_with_what_is_in_it(
    request: pytest.FixtureRequest, version_before: Path, office: Office
) -> None:
    """The new worker refuses before the migration, and sends what the old version stored after it."""
    kind = "sqlite" if office.url.startswith("sqlite") else "postgres"
    empty_url = str(request.getfixturevalue(f"{kind}_url")).replace("outbox.db", "upgraded.db")
    with Office(empty_url, office.server, office.journals.parent, office._nursery) as old:
        run(version_before, old, "migrate")
        run(version_before, old, "send", "--to", "ada@example.org", "--subject", "Stored", "--text", "Hello")
        with pytest.raises(AssertionError, match="run `postroom migrate`"):
            run(ROOT / "src", old, "worker", "--until-idle")
        assert office.order_of_arrival() == []

        run(ROOT / "src", old, "migrate")
        run(ROOT / "src", old, "worker", "--until-idle")
        assert office.order_of_arrival() == ["Stored"]
        with Outbox(empty_url) as outbox:
            assert (outbox.counts()["sent"], outbox.conservation().holds) == (1, True)


def test_the_worker_of_the_version_before_sends_nothing_in_the_place_of_a_late_email(
    office: Office, version_before: Path
) -> None:
    """It cannot read what is not rendered yet, gives that one up and goes on; nobody gets an empty email. A retry
    leaves it to the new version."""
    late_id = office.outbox.enqueue(late("Ada")).id
    secret = office.outbox.enqueue(late("Bob"), sensitive=True).id
    others = office.enqueue(2)
    run(version_before, office, "worker", "--until-idle")
    given_up = office.get(late_id)

    assert office.statuses(others) == {Status.SENT}
    assert sorted(office.order_of_arrival()) == ["Email 0", "Email 1"]
    assert (given_up.status, given_up.dead_reason, given_up.late) == (Status.DEAD, DeadReason.INVALID, True)
    for id in (late_id, secret):
        office.outbox.retry(id)
    portals = {"POSTROOM_PORTALS": write_portal(office.journals.parent)}
    office.finish(**portals)
    assert office.statuses([late_id, secret]) == {Status.SENT}
    assert set(office.server.copies_of_all().values()) == {1}

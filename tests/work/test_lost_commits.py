"""A failover to a replica that had not heard of the last commits: what was accepted is not sent again."""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from postroom import EmailId, Outbox, Status
from postroom.store.contract import Claimed, StoredEmail
from postroom.store.open import open_async_database
from postroom.testing import ScriptedSmtp
from postroom.work.journal import Journal
from postroom.work.lost_commits import came_back
from postroom.work.recovery import Recovery
from tests.servers.postgres_cluster import PostgresCluster
from tests.store.journey import LEASE, claim, sent, settle
from tests.work.nursery import Nursery, WorkerProcess
from tests.work.office import Office, wait_until


class Replica:
    """A server whose data can be put back to an earlier moment: as if one that knew no more took its place."""

    def __init__(self, cluster: PostgresCluster) -> None:
        self._cluster = cluster
        self._data = cluster.directory / "data"
        self._earlier = cluster.directory / "earlier"

    def remember(self) -> None:
        self._cluster.stop()
        subprocess.run(["cp", "-a", self._data, self._earlier], check=True)
        self._cluster.start()

    def take_over(self) -> None:
        """Everything that was committed since is lost."""
        self._cluster.stop(mode="immediate")
        shutil.rmtree(self._data)
        self._earlier.rename(self._data)
        self._cluster.start()


@pytest.fixture
def cluster() -> Iterator[PostgresCluster]:
    with PostgresCluster.create(durable=True) as cluster:
        yield cluster


@pytest.fixture
def failing_over(cluster: PostgresCluster, server: ScriptedSmtp, tmp_path: Path, nursery: Nursery) -> Iterator[Office]:
    with Office(cluster.url, server, tmp_path, nursery) as office:
        office.outbox.migrate()
        yield office


def reconnect(office: Office) -> None:
    office.outbox.close()
    office.outbox = Outbox(office.url)


def all_sent(office: Office, ids: list[EmailId]) -> bool:
    return not office.unfinished() and office.statuses(ids) == {Status.SENT}


@pytest.mark.parametrize("who", ["still running", "restarted", "another after its death", "another beside it"])
def test_what_was_accepted_before_a_failover_is_not_sent_again(
    cluster: PostgresCluster, failing_over: Office, who: str
) -> None:
    office = failing_over
    ids = office.enqueue(10) + office.enqueue(10, on_doubt="hold")
    replica = Replica(cluster)
    office.outbox.close()
    replica.remember()
    reconnect(office)
    worker = office.start_worker()
    wait_until(lambda: all_sent(office, ids))
    _before(worker, who, office)
    office.outbox.close()
    replica.take_over()
    reconnect(office)
    if who != "still running":
        office.start_worker()
    wait_until(lambda: all_sent(office, ids))

    assert set(office.server.copies_of_all().values()) == {1}
    assert len(office.server.messages) == len(ids)
    assert {_how(office.get(id)) for id in ids} == {"journal"}
    assert office.outbox.conservation().holds


def _before(worker: WorkerProcess, who: str, office: Office) -> None:
    """What becomes of the worker before the failover."""
    if who == "restarted":
        office.dismiss([worker])
    elif who == "another after its death":
        worker.kill()
    elif who == "another beside it":
        worker.send_signal(signal.SIGSTOP)  # it lives, and another one is quicker


def _how(email: StoredEmail) -> str:
    [entry] = email.history
    return str(entry.detail["settled_from"])


def test_a_backup_that_is_put_back_does_not_send_again_what_the_journal_knows(sqlite_office: Office) -> None:
    office = sqlite_office
    ids = office.enqueue(5)
    database = Path(office.url.removeprefix("sqlite:///"))
    office.outbox.close()
    backup = shutil.copy(database, database.with_suffix(".backup"))
    office.finish()
    office.outbox.close()
    for left in database.parent.glob(f"{database.name}-*"):
        left.unlink()
    shutil.copy(backup, database)
    office.outbox = Outbox(office.url)
    assert office.statuses(ids) == {Status.PENDING}
    office.finish()

    assert office.statuses(ids) == {Status.SENT}
    assert set(office.server.copies_of_all().values()) == {1}


def put_back(office: Office, *, token: int = 0) -> None:
    """Every email as it was before it was claimed."""
    office.sql(
        "UPDATE {emails} SET status = 'pending', attempts = 0, lease_token = ?, due_at = created_at, sent_at = NULL,"
        " finished_at = NULL, leased_until = NULL, worker = NULL",
        token,
    )


async def test_after_an_outage_the_database_is_told_before_anything_is_claimed(office: Office) -> None:
    """By whoever was cut off from it, about the journals of all that live."""
    [id] = office.enqueue()
    journal = Journal(office.journals, "another worker")
    [claimed] = claim(office.outbox, worker="another worker")
    journal.note_reply(sent(claimed))
    settle(office.outbox, [sent(claimed)])
    database = open_async_database(office.url)
    recovery = Recovery(database, worker="we", lease=LEASE, journals=office.journals)
    try:
        assert recovery.behind
        await recovery.sweep(keep_sent=True)
        assert not recovery.behind
        put_back(office)
        await recovery.sweep(keep_sent=True)
        assert office.get(id).status is Status.PENDING  # nobody has noticed that it is another database
        database.outages = 1
        assert recovery.behind
        await recovery.sweep(keep_sent=True)
        assert not recovery.behind
    finally:
        await database.close()

    assert office.get(id).status is Status.SENT
    journal.close()


# ---------------------------------------------------------------- what a worker knows of its own


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    journal = Journal(tmp_path / "journals", "worker")
    yield journal
    journal.close()


def sent_and_forgotten(office: Office, journal: Journal, *, version: int = 1) -> Claimed:
    """An email that was sent and settled, and of which the database has lost everything but the row."""
    office.enqueue()
    [claimed] = claim(office.outbox)
    journal.note_dot(claimed.claim)
    journal.note_reply(sent(claimed, reply='{"outcome":"sent","text":"Ok"}'), version)
    journal.forget(claimed.claim)
    put_back(office)
    [again] = claim(office.outbox)
    return again


def test_an_email_that_comes_back_is_settled_on_record(sqlite_office: Office, journal: Journal) -> None:
    again = sent_and_forgotten(sqlite_office, journal)
    known = journal.accepted(again.id)
    assert known is not None
    settled = came_back(again, known)
    assert settled is not None
    settle(sqlite_office.outbox, [settled])

    stored = sqlite_office.get(again.id)
    [entry] = stored.history
    assert (stored.status, stored.attempts, stored.reply_code, stored.doubts) == (Status.SENT, 1, 250, 0)
    assert (entry.what, entry.attempt) == ("sent", 1)
    assert entry.detail == {"outcome": "sent", "attempt": 1, "text": "Ok", "settled_from": "journal"}


def test_a_large_email_that_comes_back_is_not_sent_again_either(office: Office) -> None:
    """It is claimed without its content, and there is no need to fetch that."""
    [large] = office.enqueue(text="Good morning.\n" * 40_000)
    office.start_worker()
    wait_until(lambda: all_sent(office, [large]))
    put_back(office)
    [other] = office.enqueue()  # so that the worker looks
    wait_until(lambda: all_sent(office, [large, other]))

    assert office.copies(large) == 1
    assert _how(office.get(large)) == "journal"


def test_what_was_never_accepted_is_not_known(journal: Journal) -> None:
    assert journal.accepted(EmailId("never heard of")) is None


def test_a_later_claim_is_no_lost_commit(office: Office, journal: Journal) -> None:
    """Somebody took it over and was in doubt, or a person wants it sent again."""
    again = sent_and_forgotten(office, journal)
    put_back(office, token=1)
    [later] = claim(office.outbox)
    known = journal.accepted(again.id)

    assert later.claim.token == again.claim.token + 1
    assert known is not None
    assert came_back(later, known) is None


def test_a_corrected_email_is_not_settled_by_what_became_of_the_first_version(office: Office, journal: Journal) -> None:
    again = sent_and_forgotten(office, journal, version=3)
    known = journal.accepted(again.id)

    assert known is not None
    assert (again.version, known.version) == (1, 3)
    assert came_back(again, known) is None

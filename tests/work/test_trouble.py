"""Trouble that is nobody's email's fault: the server, the login, the database, the disk. Emails wait; none is lost."""

from __future__ import annotations

import asyncio
import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from postroom import Outbox, Status
from postroom.testing import FaultProxy, ScriptedSmtp
from postroom.work.breakers import known_routes, resume
from postroom.work.journal.record import SEGMENT_HEAD
from tests.servers.postgres_cluster import PostgresCluster
from tests.work.nursery import Nursery
from tests.work.office import LIMITS, PATIENCE, Office, until, wait_until


def transport_state(office: Office) -> tuple[str, str]:
    """State and reason as every worker sees them."""
    known = office.outbox.database.run(known_routes(), writes=False)
    return (known[0].breaker.state.value, known[0].breaker.reason) if known else ("ok", "")


def attempts(office: Office, ids: list[Any]) -> int:
    return sum(office.get(id).attempts for id in ids)


async def test_a_wrong_password_pauses_the_transport_and_costs_one_attempt_at_most(
    store_url: str, tmp_path: Path, nursery: Nursery
) -> None:
    with ScriptedSmtp(users={"app": "right"}) as server, Office(store_url, server, tmp_path, nursery) as office:
        ids = office.enqueue(20)
        address = f"smtp://app:wrong@127.0.0.1:{server.port}?starttls=off&insecure_auth=yes&{LIMITS}"
        async with office.working(smtp=address):
            await until(lambda: transport_state(office)[0] == "paused")
            await until(lambda: office.outbox.counts()["sending"] == 0)

            assert "535" in transport_state(office)[1]
            assert attempts(office, ids) <= 1
            assert office.statuses(ids) <= {Status.PENDING, Status.RETRYING}
            assert server.messages == []


async def test_a_person_resumes_a_paused_transport(store_url: str, tmp_path: Path, nursery: Nursery) -> None:
    with ScriptedSmtp() as server, Office(store_url, server, tmp_path, nursery) as office:
        server.script(at="greeting", reply="554 5.7.1 you are not welcome", times=3)
        ids = office.enqueue(5)
        async with office.working():
            await until(lambda: transport_state(office)[0] != "ok")
            server.clear_script()
            office.outbox.database.run(resume("default"))
            await until(lambda: office.statuses(ids) == {Status.SENT})

            assert transport_state(office) == ("ok", "")


async def test_a_certificate_that_nobody_stands_for_pauses_the_transport(office: Office) -> None:
    ids = office.enqueue(10)
    async with office.working(options=f"starttls=required&{LIMITS}"):  # the server offers none
        await until(lambda: transport_state(office)[0] == "paused")
        await until(lambda: office.outbox.counts()["sending"] == 0)

        assert attempts(office, ids) <= 1
        assert office.server.messages == []


async def test_an_outage_opens_the_breaker_and_all_arrive_when_the_server_is_back(office: Office) -> None:
    with FaultProxy(target_port=office.server.port) as network:
        network.refuse()
        ids = office.enqueue(30)
        async with office.working(smtp=f"smtp://127.0.0.1:{network.port}?{LIMITS}"):
            await until(lambda: transport_state(office)[0] == "open")
            assert attempts(office, ids) <= 1
            assert transport_state(office)[1]
            network.accept()
            await until(lambda: office.statuses(ids) == {Status.SENT})

    assert set(office.server.copies_of_all().values()) == {1}
    assert transport_state(office) == ("ok", "")


async def test_a_server_that_wants_less_is_left_alone_for_a_while(office: Office) -> None:
    office.server.script(at="mail", reply="421 4.7.0 too many messages, try again later", times=1)
    ids = office.enqueue(10)
    async with office.working(options=f"connections=1&{LIMITS}"):
        await until(lambda: transport_state(office)[0] == "throttled")
        await until(lambda: office.outbox.counts()["sending"] == 0)

        assert office.statuses(ids) <= {Status.PENDING, Status.RETRYING, Status.SENT}
        assert attempts(office, ids) <= 1 + len(office.server.messages)


async def test_asked_to_stop_a_worker_finishes_what_is_under_way_and_gives_the_rest_back(office: Office) -> None:
    office.server.script(at="dot", delay=1.0)
    ids = office.enqueue(40)
    worker = office.start_worker(options="connections=2")
    await until(lambda: len(office.server.messages) == 2)
    worker.terminate()
    code = await asyncio.to_thread(worker.wait, PATIENCE)

    assert code == 0
    counts = office.outbox.counts()
    assert counts["sending"] == 0
    assert counts["sent"] == len(office.server.messages)
    assert counts["pending"] == len(ids) - counts["sent"]
    assert 2 <= counts["sent"] <= 4  # each connection's email, and the one opened behind its dot
    assert attempts(office, ids) == counts["sent"]


async def test_when_the_grace_is_over_an_unanswered_dot_is_in_doubt(office: Office) -> None:
    office.server.script(at="dot", stall=True)
    [id] = office.enqueue(on_doubt="hold")
    async with office.working(grace=timedelta(seconds=0.2)):
        await until(lambda: len(office.server.messages) == 1)

    assert office.get(id).status is Status.IN_DOUBT
    assert office.copies(id) == 1


@pytest.mark.parametrize("processes", ["1", "2"])
def test_the_command_works_until_idle_in_one_process_or_several(office: Office, processes: str) -> None:
    """The real command, as a person types it."""
    ids = office.enqueue(50)
    finished = subprocess.run(
        [sys.executable, "-m", "postroom.cli", "worker", "--until-idle", "--processes", processes],
        env={**os.environ, **office.environment()},
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )

    assert finished.returncode == 0, finished.stderr
    assert office.statuses(ids) == {Status.SENT}
    assert set(office.server.copies_of_all().values()) == {1}


async def test_emails_survive_the_death_of_every_database_connection(postgres_office: Office) -> None:
    """As a restart of the server, seen from a client; several times in the middle of a drain."""
    office = postgres_office
    ids = office.enqueue(300)
    office.server.script(at="dot", delay=0.01)
    async with office.working(options=f"connections=4&{LIMITS}"):
        for milestone in (50, 120, 200):
            await until(lambda count=milestone: len(office.server.messages) >= count)  # type: ignore[misc]
            await asyncio.to_thread(kill_connections, office.url)
        await until(lambda: not office.unfinished())

    assert office.statuses(ids) == {Status.SENT}
    assert set(office.server.copies_of_all().values()) == {1}
    assert len(office.server.copies_of_all()) == len(ids)


def kill_connections(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


@pytest.fixture
def cluster() -> Iterator[PostgresCluster]:
    with PostgresCluster.create(durable=True) as cluster:
        yield cluster


async def test_a_crash_of_the_database_in_the_middle_of_a_drain_loses_nothing_and_doubles_nothing(
    cluster: PostgresCluster, tmp_path: Path, nursery: Nursery
) -> None:
    with Outbox(cluster.url) as outbox:
        outbox.migrate()
    with ScriptedSmtp() as server, Office(cluster.url, server, tmp_path, nursery) as office:
        ids = office.enqueue(300)
        server.script(at="dot", delay=0.01)
        async with office.working(options=f"connections=4&{LIMITS}"):
            await until(lambda: len(server.messages) >= 60)
            await asyncio.to_thread(cluster.stop, mode="immediate")
            await asyncio.sleep(1.0)  # the worker goes on with what it holds, and finds nobody to tell
            await asyncio.to_thread(cluster.start)
            await until(lambda: len(server.copies_of_all()) == len(ids))
            office.outbox.close()
            office.outbox = Outbox(cluster.url)
            await until(lambda: not office.unfinished())

        assert office.statuses(ids) == {Status.SENT}
        assert set(server.copies_of_all().values()) == {1}
        assert office.outbox.conservation().holds


class FullDisk:
    """There are no blocks for journals until there is room again; and they need some every few emails."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.full = False
        self._allocate = os.posix_fallocate
        monkeypatch.setattr("postroom.work.journal.segment.os.posix_fallocate", self)
        monkeypatch.setattr("postroom.work.journal.writing.FIRST_SEGMENT", SEGMENT_HEAD)
        monkeypatch.setattr("postroom.work.journal.writing.SEGMENT", 1_000)

    def __call__(self, file: int, start: int, size: int) -> None:
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device")
        self._allocate(file, start, size)


async def test_a_full_disk_stops_the_worker_from_sending_and_loses_nothing(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FullDisk(monkeypatch)
    ids = office.enqueue(30)
    async with office.working():
        disk.full = True
        await until(lambda: "DATA" in office.server.commands)
        await until(lambda: office.outbox.counts()["pending"] == len(ids))
        assert office.server.messages == []
        disk.full = False
        await until(lambda: office.statuses(ids) == {Status.SENT})

    assert set(office.server.copies_of_all().values()) == {1}
    assert attempts(office, ids) == len(ids)


async def test_a_disk_that_fills_up_in_the_middle_costs_no_second_copy(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Replies that cannot be noted are told to the database all the same."""
    disk = FullDisk(monkeypatch)
    ids = office.enqueue(100)
    office.server.script(at="dot", delay=0.01)
    async with office.working(options=f"connections=4&{LIMITS}"):
        await until(lambda: len(office.server.messages) >= 20)
        disk.full = True
        await until(lambda: office.outbox.counts()["sending"] == 0)
        assert office.outbox.counts()["sent"] == len(office.server.messages)
        disk.full = False
        await until(lambda: office.statuses(ids) == {Status.SENT})

    assert set(office.server.copies_of_all().values()) == {1}


def test_a_journal_folder_that_cannot_be_made_is_an_error_at_the_start(office: Office, tmp_path: Path) -> None:
    (tmp_path / "a file").write_text("")
    [id] = office.enqueue()
    worker = office.start_worker(journals=tmp_path / "a file" / "journals")

    assert worker.wait(PATIENCE) > 0
    assert "set POSTROOM_JOURNAL" in office.logs()
    assert "Traceback" not in office.logs()
    wait_until(lambda: office.get(id).status is Status.PENDING)

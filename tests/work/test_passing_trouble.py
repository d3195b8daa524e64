"""Trouble of PostgreSQL that passes: a worker waits and goes on, nothing is lost, nothing is sent twice.

Each trouble is the real one, and lasts until a real worker is seen to have met it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, LiteralString, cast
from urllib.parse import urlsplit

import psycopg
import pytest

from postroom import Status
from postroom.config import Settings
from postroom.work.thread import WorkerThread
from tests.work.nursery import WorkerProcess
from tests.work.office import PATIENCE, Office, wait_until

EMAILS = 20


@pytest.fixture
def administrator(postgres_office: Office) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(postgres_office.url, autocommit=True) as connection:
        yield connection


@contextmanager
def setting(administrator: psycopg.Connection[Any], name: str, value: str) -> Iterator[None]:
    """How sessions of this database begin, for a while."""
    command = f"ALTER DATABASE {administrator.info.dbname}"
    administrator.execute(cast(LiteralString, f"{command} SET {name} = '{value}'"))
    try:
        yield
    finally:
        administrator.execute(cast(LiteralString, f"{command} RESET {name}"))


@contextmanager
def locked(administrator: psycopg.Connection[Any]) -> Iterator[None]:
    """Nobody can claim or settle an email meanwhile."""
    with administrator.transaction():
        administrator.execute("LOCK TABLE postroom.emails IN EXCLUSIVE MODE")
        yield


def sent_once(office: Office, ids: Any, worker: WorkerProcess) -> None:
    assert worker.wait(PATIENCE) == 0, office.logs()
    assert office.statuses(ids) == {Status.SENT}
    assert [office.copies(id) for id in ids] == [1] * len(ids)
    assert office.outbox.conservation().holds


TROUBLES = {
    "statement timeout": ("statement_timeout", "50ms", "statement timeout"),
    "lock timeout": ("lock_timeout", "50ms", "lock timeout"),
    "transactions that may only read": ("default_transaction_read_only", "on", "read-only transaction"),
}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_worker_outlasts(postgres_office: Office, administrator: psycopg.Connection[Any], trouble: str) -> None:
    office = postgres_office
    name, value, words = TROUBLES[trouble]
    ids = office.enqueue(EMAILS)
    with locked(administrator), psycopg.connect(office.url, autocommit=True) as other, setting(other, name, value):
        worker = office.start_worker("--until-idle")
        wait_until(lambda: office.logs().count(words) > 3 or worker.poll() is not None)
    sent_once(office, ids, worker)


def test_a_worker_outlasts_cancelled_queries(postgres_office: Office, administrator: psycopg.Connection[Any]) -> None:
    office = postgres_office
    ids = office.enqueue(EMAILS)
    with psycopg.connect(office.url, autocommit=True) as other:
        with locked(administrator):
            worker = office.start_worker("--until-idle")
            for _ in range(5):
                wait_until(lambda: worker.poll() is not None or cancel_somebody(other))
        sent_once(office, ids, worker)


def cancel_somebody(connection: psycopg.Connection[Any]) -> bool:
    return bool(
        connection.execute(
            "SELECT pg_cancel_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND wait_event_type = 'Lock' LIMIT 1"
        ).fetchall()
    )


def test_a_worker_outlasts_sessions_that_are_ended_for_being_idle(
    postgres_office: Office, administrator: psycopg.Connection[Any]
) -> None:
    """Between two emails of a slow server, every session is idle for too long."""
    office = postgres_office
    office.server.script(at="dot", delay=0.3)
    ids = office.enqueue(6)
    with setting(administrator, "idle_session_timeout", "100ms"):
        worker = office.start_worker("--until-idle", options="connections=1")
        sent_once(office, ids, worker)


def test_a_worker_outlasts_the_end_of_its_roles_connections(
    postgres_office: Office, administrator: psycopg.Connection[Any]
) -> None:
    office = postgres_office
    ids = office.enqueue(EMAILS)
    role = f"{administrator.info.dbname}_worker"
    with a_role(administrator, role), psycopg.connect(office.url, autocommit=True) as other:
        parts = urlsplit(office.url)
        url = parts._replace(netloc=f"{role}@{parts.hostname}:{parts.port}").geturl()
        with locked(administrator):
            worker = office.start(
                "worker", "--until-idle", environment=office.environment() | {"POSTROOM_DATABASE": url}
            )
            wait_until(lambda: worker.poll() is not None or bool(waiting(other)))
            other.execute(cast(LiteralString, f"ALTER ROLE {role} CONNECTION LIMIT 0"))
            # Again and again: one that was let in just before may not be in the list yet.
            wait_until(lambda: end_sessions(other, role) and notices(office))
        other.execute(cast(LiteralString, f"ALTER ROLE {role} CONNECTION LIMIT -1"))
        sent_once(office, ids, worker)


def end_sessions(connection: psycopg.Connection[Any], role: str) -> bool:
    """Whoever has one of this role, now."""
    connection.execute("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE usename = %s", (role,))
    return True


def notices(office: Office) -> bool:
    """Whoever asked the database first: the claim, or the look for dead workers before which nothing is claimed."""
    return any(said in office.logs() for said in ("claiming waits for the database", "the database is away"))


def waiting(connection: psycopg.Connection[Any]) -> list[Any]:
    return connection.execute(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    ).fetchall()


@contextmanager
def a_role(administrator: psycopg.Connection[Any], role: str) -> Iterator[None]:
    for command in (
        f"CREATE ROLE {role} LOGIN",
        f"GRANT USAGE ON SCHEMA postroom TO {role}",
        f"GRANT ALL ON ALL TABLES IN SCHEMA postroom TO {role}",
        f"GRANT ALL ON ALL SEQUENCES IN SCHEMA postroom TO {role}",
    ):
        administrator.execute(cast(LiteralString, command))
    try:
        yield
    finally:
        administrator.execute(cast(LiteralString, f"DROP OWNED BY {role}"))
        administrator.execute(cast(LiteralString, f"DROP ROLE {role}"))


def test_a_worker_inside_another_process_goes_on_as_well(
    postgres_office: Office, administrator: psycopg.Connection[Any]
) -> None:
    office = postgres_office
    ids = office.enqueue(EMAILS)
    settings = Settings(database=office.url, smtp=office.server.url, journal=office.journals)
    with psycopg.connect(office.url, autocommit=True) as other, ExitStack() as working:
        with locked(administrator):
            working.enter_context(WorkerThread(settings))
            for _ in range(5):
                wait_until(lambda: cancel_somebody(other))
        wait_until(lambda: not office.unfinished())

    assert office.statuses(ids) == {Status.SENT}
    assert [office.copies(id) for id in ids] == [1] * EMAILS

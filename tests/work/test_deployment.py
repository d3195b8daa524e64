"""A copy of production mails nobody: whoever is to send looks whose database it has before the queue is touched."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest

from postroom import Email, Outbox, Settings, Status
from postroom.claim.route import Route
from postroom.errors import StoreUnavailable, WrongDeployment
from postroom.send.delivery_mode import DeliveryMode
from postroom.send.smtp import SmtpTransport
from postroom.store.deployment import Stamp, refusal, stamp
from postroom.store.migrate import migrate
from postroom.store.open import AsyncDatabase, open_async_database
from postroom.work.ownership import Ownership
from postroom.work.routes import guarded
from postroom.work.thread import WorkerThread
from tests.servers.postgres import PostgresServer
from tests.store.journey import claim
from tests.work.office import LIMITS, PATIENCE, Office, until, wait_until


def stamp_as(office: Office, name: str) -> None:
    migrate(office.outbox.database, deployment=name)


def as_if_restored_from(office: Office, name: str) -> None:
    """What a restore leaves: another deployment's stamp where ours was."""
    office.sql("DELETE FROM {deployment}")
    stamp_as(office, name)


@pytest.mark.parametrize(
    ("stamped", "configured", "complaint"),
    [
        ("", "", None),
        ("staging", "staging", None),
        ("", "staging", "not stamped yet.*postroom migrate"),
        ("production", "", "belongs to the deployment production.*configured for none.*adopt --cancel-waiting"),
        ("production", "staging", "belongs to the deployment production.*for staging.*POSTROOM_DATABASE elsewhere"),
    ],
)
async def test_a_worker_sends_from_its_own_database_only(
    office: Office, stamped: str, configured: str, complaint: str | None
) -> None:
    if stamped:
        stamp_as(office, stamped)
    [id] = office.enqueue()
    if complaint is None:
        await office.work_until_idle(deployment=configured)
    else:
        with pytest.raises(WrongDeployment, match=complaint):
            await office.work_until_idle(deployment=configured)

    assert office.get(id).status is (Status.SENT if complaint is None else Status.PENDING)
    assert office.copies(id) == (complaint is None)


async def test_a_foreign_worker_takes_nothing_over(office: Office) -> None:
    """An email that production's worker was sending when the copy was made, and whose lease has run out here."""
    stamp_as(office, "production")
    [id] = office.enqueue()
    claim(office.outbox, worker="of-production", lease=timedelta(0))

    with pytest.raises(WrongDeployment):
        await office.work_until_idle(deployment="staging")
    assert (office.get(id).status, office.get(id).history) == (Status.SENDING, ())


async def test_a_database_that_is_restored_beneath_a_running_worker_is_noticed(office: Office) -> None:
    stamp_as(office, "staging")
    office.enqueue()
    stopped = asyncio.Event()

    async def work() -> None:
        async with office.working(deployment="staging") as worker:
            await asyncio.to_thread(office.server.wait_for, 1, timeout=PATIENCE)
            as_if_restored_from(office, "production")
            await until(lambda: worker.engine.ownership.refusal is not None)
            stopped.set()

    with pytest.raises(WrongDeployment, match="belongs to the deployment production"):
        await work()
    [later] = office.enqueue()
    assert stopped.is_set()
    assert office.copies(later) == 0


async def test_a_database_that_is_adopted_beneath_a_running_worker_is_noticed(office: Office) -> None:
    """Under the same name: what the worker has in hand is still from before."""
    stamp_as(office, "staging")

    async def work() -> None:
        async with office.working(deployment="staging") as worker:
            await until(lambda: worker.engine.ownership.confirmed)
            as_if_restored_from(office, "staging")
            await until(lambda: worker.engine.ownership.refusal is not None)

    with pytest.raises(WrongDeployment, match="adopted while this process ran"):
        await work()


async def test_after_an_outage_nothing_is_claimed_before_the_next_look(store_url: str) -> None:
    database: AsyncDatabase = open_async_database(store_url)
    try:
        ownership = Ownership(database, "")
        assert not ownership.confirmed
        await ownership.look()
        assert ownership.confirmed

        database.outages += 1
        assert not ownership.confirmed
        assert await ownership.is_ours()
    finally:
        await database.close()


async def test_a_worker_that_cannot_ask_waits_until_it_can(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    database = open_async_database(store_url)
    ownership, away = Ownership(database, ""), [StoreUnavailable("away"), StoreUnavailable("away")]
    look = Ownership.look

    async def sometimes(self: Ownership) -> None:
        if away:
            raise away.pop()
        await look(self)

    monkeypatch.setattr(Ownership, "look", sometimes)
    try:
        await ownership.insist(type("Service", (), {"stopping": asyncio.Event()})())

        assert (away, ownership.confirmed) == ([], True)
    finally:
        await database.close()


def test_enqueueing_into_a_copy_is_possible_and_a_thread_does_not_send_from_it(office: Office) -> None:
    stamp_as(office, "production")
    settings = Settings(database=office.url, smtp=office.server.url, deployment="staging", journal=office.journals)
    with Outbox.from_settings(settings) as outbox:
        id = outbox.enqueue(Email(to="ada@example.org", subject="Hi", text="Hello")).id
        with pytest.raises(WrongDeployment, match="belongs to the deployment production"):
            WorkerThread(outbox).start()

        assert outbox.get(id).status is Status.PENDING


@pytest.mark.parametrize("configured", ["staging", None])
def test_the_worker_s_command_refuses_in_one_line_and_leaves_the_queue_alone(
    office: Office, configured: str | None
) -> None:
    """(also where nothing at all is configured: a copy on somebody's laptop)"""
    stamp_as(office, "production")
    [id] = office.enqueue()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("POSTROOM_")}
    ended = subprocess.run(
        [sys.executable, "-m", "postroom.cli", "worker", "--until-idle"],
        env=environment | office.environment() | ({"POSTROOM_DEPLOYMENT": configured} if configured else {}),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )

    assert ended.returncode == 1
    [line] = ended.stderr.splitlines()
    assert "belongs to the deployment production" in line
    assert (office.get(id).status, office.copies(id)) == (Status.PENDING, 0)


def test_the_worker_s_first_line_says_whose_it_is_and_who_gets_what(office: Office) -> None:
    stamp_as(office, "staging")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("POSTROOM_")}
    settings = {"POSTROOM_DEPLOYMENT": "staging", "POSTROOM_DELIVERY": "redirect:dev@example.org"}
    ended = subprocess.run(
        [sys.executable, "-m", "postroom.cli", "worker", "--until-idle"],
        env=environment | office.environment() | settings,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    first = json.loads(ended.stderr.splitlines()[0])

    assert (first["service"], first["deployment"], first["delivery"]) == ("worker", "staging", "redirect")
    assert "dev@example.org" not in ended.stderr


def test_a_database_is_stamped_once_and_by_the_first(office: Office) -> None:
    stamp_as(office, "production")
    first = office.outbox.database.run(stamp())
    stamp_as(office, "staging")

    assert isinstance(first, Stamp)
    assert office.outbox.database.run(stamp()) == first
    assert len(first.id) == 32
    assert refusal(first, "production") is None


async def test_a_worker_s_pipelined_emails_keep_to_the_mode(office: Office) -> None:
    """Real SMTP, several connections, envelopes behind dots: nobody but the one address is ever named."""
    redirect = DeliveryMode.parse("redirect:dev@example.net")
    ids = office.enqueue(120)

    await office.work_until_idle(
        routes=lambda: [guarded(Route.over(SmtpTransport(f"{office.server.url}?{LIMITS}&connections=3")), redirect)]
    )

    assert office.statuses(ids) == {Status.SENT}
    assert {message.recipients for message in office.server.messages} == {("dev@example.net",)}
    assert len(office.server.messages) == 120
    assert not [command for command in office.server.commands if command.startswith("RCPT") and "person" in command]


async def test_a_copy_that_is_put_in_the_database_s_place_is_not_claimed_from(
    postgres_office: Office, postgres_server: PostgresServer, migrated_template: str
) -> None:
    """As a restore does it: connections are ended, and under the same name there is another database."""
    office = postgres_office
    stamp_as(office, "staging")
    office.enqueue()
    with postgres_server.database(template=migrated_template) as copy_url:
        with Outbox(copy_url) as copy:
            migrate(copy.database, deployment="production")
            ids = [copy.enqueue(Email(to="real@example.org", subject="Real", text="Hi")).id for _ in range(50)]

        async def work() -> None:
            async with office.working(deployment="staging") as worker:
                await asyncio.to_thread(office.server.wait_for, 1, timeout=PATIENCE)
                exchanged.enter_context(in_the_place_of(office.url, copy_url))
                await until(lambda: worker.engine.ownership.refusal is not None)

        with ExitStack() as exchanged, pytest.raises(WrongDeployment, match="belongs to the deployment production"):
            await work()
        with Outbox(copy_url) as copy:
            assert {copy.get(id).status for id in ids} == {Status.PENDING}
    assert len(office.server.messages) == 1


@contextmanager
def in_the_place_of(url: str, other: str) -> Iterator[None]:
    """Have one database under another's name for a while; whoever is connected to either is thrown out."""
    place, copy = (urlsplit(each).path.removeprefix("/") for each in (url, other))
    maintenance = psycopg.conninfo.make_conninfo(url, dbname="postgres")
    with psycopg.connect(maintenance, autocommit=True) as connection:

        def rename(*steps: tuple[str, str]) -> None:
            for name, _ in steps:
                connection.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
                connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))
                wait_until(lambda name=name: not _connected(connection, name))
            for name, to in steps:
                connection.execute(f'ALTER DATABASE "{name}" RENAME TO "{to}"')
            for _, name in steps:
                connection.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')

        rename((place, f"{place}_before"), (copy, place))
        try:
            yield
        finally:
            rename((place, copy), (f"{place}_before", place))


def _connected(connection: psycopg.Connection[Any], name: str) -> int:
    [[count]] = connection.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = %s", (name,)).fetchall()
    return int(count)

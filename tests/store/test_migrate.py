"""Migrations: any number of processes, any number of times, with one result; and an answer when they do not fit."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest

from postroom import AsyncOutbox, EmailId, Outbox, Status
from postroom.errors import ConfigurationError, SchemaError, StoreUnavailable
from postroom.outbox.submission import Submission
from postroom.store.contract import Claim, Settlement
from postroom.store.dialect import Dialect
from postroom.store.migrate import script
from postroom.store.open import open_database
from postroom.store.plan import Plan, Rows, ask
from postroom.store.queries import Queries
from postroom.store.schema import migrations
from postroom.vocabulary import LeaseToken
from tests.store.journey import claim, email, enqueue_on, settle
from tests.store.test_concurrency import wait_until_somebody_waits

COLUMNS = """
SELECT table_name, column_name, data_type, is_nullable, column_default
FROM information_schema.columns
WHERE table_schema = 'postroom'
ORDER BY 1, 2
"""
INDEXES = "SELECT indexdef FROM pg_indexes WHERE schemaname = 'postroom' ORDER BY 1"


def test_a_migration_creates_what_an_outbox_needs_and_doing_it_again_nothing(empty_url: str) -> None:
    with Outbox(empty_url) as outbox:
        first, second = outbox.migrate(), outbox.migrate()
        outbox.enqueue(email())

        assert [migration.version for migration in first] == [
            migration.version for migration in migrations(outbox.database.dialect.name)
        ]
        assert second == []
        assert outbox.counts()["pending"] == 1


async def test_an_async_outbox_migrates_alike(empty_url: str) -> None:
    async with AsyncOutbox(empty_url) as outbox:
        first, second = await outbox.migrate(), await outbox.migrate()

        assert (len(first) > 0, second) == (True, [])


def test_many_processes_may_migrate_at_once(empty_url: str) -> None:
    """Each says how many migrations it applied; together they applied each once."""
    program = "import sys; from postroom import Outbox; o = Outbox(sys.argv[1]); print(len(o.migrate())); o.close()"
    processes = [
        subprocess.Popen([sys.executable, "-c", program, empty_url], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    applied = [int(process.communicate(timeout=60)[0]) for process in processes]

    assert [process.returncode for process in processes] == [0, 0, 0]
    with Outbox(empty_url) as outbox:
        assert sum(applied) == len(migrations(outbox.database.dialect.name))
        assert outbox.migrate() == []


def test_many_threads_may_migrate_at_once(empty_url: str) -> None:
    def migrate() -> int:
        with Outbox(empty_url) as outbox:
            return len(outbox.migrate())

    with ThreadPoolExecutor(4) as threads:
        applied = list(threads.map(lambda _: migrate(), range(4)))

    assert sorted(applied) == [0, 0, 0, max(applied)]


def test_a_migration_gives_way_to_a_worker_that_takes_the_tables_in_another_order(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that settles writes to `emails`, and then to what hangs on it; this migration begins with the latter."""
    before = 16
    with Outbox(postgres_url) as outbox, psycopg.connect(postgres_url) as worker, ThreadPoolExecutor() as pool:
        monkeypatch.setattr("postroom.store.schema.migrations", lambda name: migrations(name)[:before])
        outbox.migrate()
        monkeypatch.undo()
        worker.execute("LOCK TABLE postroom.emails IN ROW EXCLUSIVE MODE")
        upgrade = pool.submit(outbox.migrate)
        wait_until_somebody_waits(outbox)
        worker.execute("LOCK TABLE postroom.campaign_mails IN ROW EXCLUSIVE MODE")
        worker.commit()

        assert upgrade.result()[0].version == before + 1
        assert outbox.migrate() == []


def test_a_migration_that_finds_a_table_in_use_for_long_ends_with_nothing_applied(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postroom.store.migrate.PATIENCE", 0.0)
    with Outbox(postgres_url) as outbox, psycopg.connect(postgres_url) as somebody:
        monkeypatch.setattr("postroom.store.schema.migrations", lambda name: migrations(name)[:20])
        outbox.migrate()
        monkeypatch.setattr("postroom.store.schema.migrations", lambda name: migrations(name)[:21])
        somebody.execute("LOCK TABLE postroom.enrolments IN ROW EXCLUSIVE MODE")
        with pytest.raises(StoreUnavailable, match="lock timeout"):
            outbox.migrate()
        somebody.rollback()

        assert len(outbox.migrate()) == 1


def test_a_new_file_that_somebody_writes_to_is_waited_for(tmp_path: Path) -> None:
    """SQLite does not wait by itself when a file changes to WAL."""
    writer = sqlite3.connect(tmp_path / "app.db", isolation_level=None, check_same_thread=False)
    writer.execute("CREATE TABLE bookings (name TEXT)")
    writer.execute("BEGIN IMMEDIATE")
    committing = threading.Timer(0.2, writer.commit)
    committing.start()
    with Outbox(f"sqlite:///{tmp_path}/app.db") as outbox:
        applied = outbox.migrate()
    committing.join()
    writer.close()

    assert applied != []


def test_without_a_schema_every_verb_says_what_to_do(empty_url: str) -> None:
    with Outbox(empty_url) as outbox:
        for verb in (lambda: outbox.enqueue(email()), outbox.counts, outbox.list, lambda: claim(outbox)):
            with pytest.raises(SchemaError, match=r"postroom migrate.*outbox\.migrate\(\)"):
                verb()

        assert outbox.migrate() != []


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (
            "INSERT INTO {tables}migrations (version, name, checksum, needs) VALUES (9999, 'later', 'x', 9999)",
            "upgrade Postroom",
        ),
        ("UPDATE {tables}migrations SET checksum = 'other' WHERE version = 1", "not the one this Postroom ships"),
    ],
)
def test_a_schema_of_another_version_is_refused(store_url: str, change: str, complaint: str) -> None:
    with Outbox(store_url) as outbox:
        with outbox.transaction() as connection:
            connection.execute(change.format(tables=outbox.database.dialect.tables))

        with pytest.raises(SchemaError, match=complaint):
            outbox.migrate()


def test_outboxes_live_side_by_side_in_one_database(empty_url: str) -> None:
    with Outbox(empty_url) as first, Outbox(empty_url, tables="mail") as second:
        first.migrate()
        assert second.migrate() != []
        ids = [first.enqueue(email("First"), key="k").id, second.enqueue(email("Second"), key="k").id]
        second.enqueue_many(email(f"Bulk {number}") for number in range(3))

        assert (first.counts()["pending"], second.counts()["pending"]) == (1, 4)
        assert [each.id for each in claim(first)] == [ids[0]]
        second.cancel(ids[1])
        assert second.get(ids[1]).status is Status.CANCELLED
        assert (first.conservation().holds, second.conservation().holds) == (True, True)


@pytest.mark.parametrize("name", ["Mail", "ma-il", "mail.x", "mail; DROP", "", "1mail", "mäil"])
def test_a_name_that_cannot_stand_in_sql_is_refused(empty_url: str, name: str) -> None:
    with pytest.raises(ConfigurationError, match="lower-case letters, digits and underscores"):
        open_database(empty_url, tables=name)


@pytest.mark.parametrize("tables", ["postroom", "mail"])
def test_the_printed_script_makes_the_same_sqlite_schema(tmp_path: Path, tables: str) -> None:
    urls = [f"sqlite:///{tmp_path / name}" for name in ("migrated.db", "scripted.db")]
    with Outbox(urls[0], tables=tables) as migrated, Outbox(urls[1], tables=tables) as scripted:
        migrated.migrate()
        subprocess.run(
            [sys.executable, "-c", "import sqlite3, sys; sqlite3.connect(sys.argv[1]).executescript(sys.stdin.read())",
             str(tmp_path / "scripted.db")],
            input=script(scripted.database.dialect), text=True, check=True,
        )  # fmt: skip

        assert _sqlite_schema(tmp_path / "scripted.db") == _sqlite_schema(tmp_path / "migrated.db")
        assert scripted.migrate() == []


def _sqlite_schema(path: Path) -> list[tuple[str, str]]:
    connection = sqlite3.connect(path)
    try:
        found = connection.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")
        return [(name, " ".join(line for line in sql.splitlines() if "--" not in line).split()) for name, sql in found]
    finally:
        connection.close()


def test_the_printed_script_makes_the_same_postgres_schema(postgres_url: str, migrated_postgres_url: str) -> None:
    with Outbox(postgres_url) as outbox:
        psql(postgres_url, script(outbox.database.dialect))

        assert outbox.migrate() == []
    with psycopg.connect(postgres_url) as scripted, psycopg.connect(migrated_postgres_url) as migrated:
        for question in (COLUMNS, INDEXES):
            assert scripted.execute(question).fetchall() == migrated.execute(question).fetchall()


def psql(url: str, commands: str) -> None:
    """Somebody's own tool."""
    parts = urlsplit(url)
    environment = os.environ | {"PGHOST": str(parts.hostname), "PGPORT": str(parts.port), "PGUSER": str(parts.username)}
    subprocess.run(
        ["psql", "-X", "-v", "ON_ERROR_STOP=1", "-q", "-d", parts.path.removeprefix("/"), "-f", "-"],
        input=commands, text=True, check=True, env=environment,
    )  # fmt: skip


def test_an_upgrade_does_not_disturb_a_worker_that_was_there_before(
    empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker of the release before holds an email; the schema grows under it; it settles, and takes the next one, all
    in its own words."""
    monkeypatch.setattr("postroom.store.schema.migrations", lambda name: migrations(name)[:BEFORE])
    with Outbox(empty_url) as worker, Outbox(empty_url) as upgrade:
        worker.migrate()
        worker.database.dialect = in_the_words_before(worker.database.dialect)
        first = enqueue_as_before(worker)
        [(held, token)] = claim_as_before(worker)

        monkeypatch.undo()
        later = [migration.version for migration in upgrade.migrate()]
        settled = settle(worker, [Settlement(claim=Claim(held, token), status=Status.SENT, attempts=1)])
        second = enqueue_as_before(worker)

        assert later == [migration.version for migration in migrations(worker.database.dialect.name)][BEFORE:] != []
        assert (held, settled) == (first, {first})
        assert upgrade.get(second).route == "default"
        assert [id for id, _token in claim_as_before(worker)] == [second]
        assert upgrade.counts()["sent"] == upgrade.counts()["sending"] == 1
        assert upgrade.conservation().holds


def test_workers_of_both_releases_share_the_emails_of_an_upgraded_outbox(store_url: str) -> None:
    """The old ones know nothing of routes: they take whatever is due, the oldest first, as they always did."""
    with Outbox(store_url) as new, Outbox(store_url) as old:
        old.database.dialect = in_the_words_before(old.database.dialect)
        ours, theirs = enqueue_on(new, "backup"), [enqueue_as_before(old) for _ in range(3)]
        [taken] = claim(new, 1)
        rest = claim_as_before(old)
        settle(new, [Settlement(claim=taken.claim, status=Status.SENT, attempts=1)])
        settled = settle(old, [Settlement(claim=Claim(*each), status=Status.SENT, attempts=1) for each in rest])

        assert taken.id == theirs[0]
        assert [id for id, _token in rest] == [*ours, *theirs[1:]]
        assert settled == {*ours, *theirs[1:]}
        assert (new.counts()["sent"], new.conservation().holds) == (4, True)


BEFORE = 3
"""The version of the schema that the release before knew."""


def in_the_words_before(dialect: Dialect) -> Dialect:
    """Speaks to the database as the release before did, statement by statement."""
    return replace(dialect, queries=Queries(f"tests.store.previous_release.{dialect.name}", dialect.tables))


def enqueue_as_before(outbox: Outbox) -> EmailId:
    order = outbox.rules.order(Submission(email()))
    row = {name: value for name, value in order.as_plain_row().items() if name != "route"}
    outbox.database.run(_ask_before("enqueue_one", **row))
    return order.id


def claim_as_before(outbox: Outbox) -> list[tuple[EmailId, LeaseToken]]:
    seats = {"urgent": 100, "normal": 0, "bulk": 0, "urgent_open": 1, "normal_open": 1, "bulk_open": 1}
    rows = outbox.database.run(_ask_before("claim", worker="old", lease=30.0, whole=1_000_000, **seats))
    return [(EmailId(id), LeaseToken(token)) for id, _priority, _due, _attempts, _most, token, *_ in rows]


def _ask_before(name: str, /, **parameters: Any) -> Plan[Rows]:
    return (yield ask(name, **parameters))

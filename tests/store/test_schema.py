"""Code and schema of different versions: noticed at the first use, once, at no one's cost."""

from __future__ import annotations

import sqlite3
from typing import Any

import psycopg
import pytest

from postroom import AsyncOutbox, Outbox
from postroom.errors import SchemaError
from postroom.store import schema
from postroom.store.migrate import script
from postroom.store.schema import Applied, Migration, SchemaCheck, migrations, missing
from tests.store.journey import claim, email
from tests.store.test_roles import apply_roles

OLDER = r"earlier version: \d{4} \w+.* not applied; run `postroom migrate`"
NEWER = "need a Postroom that knows version 9999.*upgrade Postroom"


def without_the_last(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """A database as the version before left it."""
    with monkeypatch.context() as before, Outbox(url) as outbox:
        before.setattr(schema, "migrations", lambda name: migrations(name)[:-1])
        before.setattr("postroom.store.migrate.migrations", lambda name: migrations(name)[:-1])
        outbox.migrate()


def with_a_later_one(url: str, *, needs: str) -> None:
    with Outbox(url) as outbox, outbox.transaction() as connection:
        connection.execute(
            f"INSERT INTO {outbox.database.dialect.tables}migrations (version, name, checksum, needs) "
            f"VALUES (9999, 'later', 'x', {needs})"
        )


def test_every_verb_notices_an_older_schema_before_it_does_anything(
    empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_the_last(monkeypatch, empty_url)
    with Outbox(empty_url) as outbox:
        for verb in (lambda: outbox.enqueue(email()), outbox.counts, outbox.list, lambda: claim(outbox)):
            with pytest.raises(SchemaError, match=OLDER):
                verb()
        outbox.migrate()

        assert outbox.counts()["pending"] == 0  # the same outbox, without a restart
        assert outbox.enqueue(email()).id


async def test_an_async_outbox_notices_it_alike(empty_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    without_the_last(monkeypatch, empty_url)
    async with AsyncOutbox(empty_url) as outbox:
        with pytest.raises(SchemaError, match=OLDER):
            await outbox.enqueue(email())


def test_code_works_beneath_a_newer_schema_that_does_not_mind(store_url: str) -> None:
    with_a_later_one(store_url, needs="NULL")
    with Outbox(store_url) as outbox:
        outbox.enqueue(email())

        assert len(claim(outbox)) == 1
        assert outbox.migrate() == []  # a process of the version before that starts during the upgrade


def test_code_is_told_to_be_upgraded_where_the_schema_needs_later_code(store_url: str) -> None:
    with_a_later_one(store_url, needs="9999")
    with Outbox(store_url) as outbox:
        for verb in (lambda: outbox.enqueue(email()), outbox.counts, outbox.migrate):
            with pytest.raises(SchemaError, match=NEWER):
                verb()


def test_the_schema_is_looked_at_once(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []
    real = SchemaCheck._check
    monkeypatch.setattr(SchemaCheck, "_check", lambda self: looks.append(1) or real(self))
    with Outbox(store_url) as outbox:
        for _ in range(3):
            outbox.enqueue(email())
        outbox.counts()

    assert len(looks) == 1


def test_a_caller_s_transaction_outlives_the_news_that_the_tables_are_missing(postgres_url: str) -> None:
    with Outbox(postgres_url) as outbox, psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE bookings (name text)")
        connection.execute("INSERT INTO bookings VALUES ('Ada')")
        with pytest.raises(SchemaError, match=r"no Postroom tables.*postroom migrate"):
            outbox.enqueue(email(), connection=connection)
        connection.commit()

        assert connection.execute("SELECT name FROM bookings").fetchall() == [("Ada",)]


def test_a_caller_s_transaction_outlives_the_news_that_they_are_old(
    empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_the_last(monkeypatch, empty_url)
    with Outbox(empty_url) as outbox:
        connection: Any = (
            sqlite3.connect(empty_url.removeprefix("sqlite:///"))
            if empty_url.startswith("sqlite")
            else psycopg.connect(empty_url)
        )
        connection.execute("CREATE TABLE bookings (name text)")
        connection.execute("INSERT INTO bookings VALUES ('Ada')")
        with pytest.raises(SchemaError, match=OLDER):
            outbox.enqueue(email(), connection=connection)
        connection.commit()

        assert connection.execute("SELECT name FROM bookings").fetchall() == [("Ada",)]
        connection.close()


def test_who_may_not_read_the_ledger_may_enqueue_all_the_same(migrated_postgres_url: str) -> None:
    """Whoever gave rights by hand may have left it out; then nobody can say, and nobody is kept from working."""
    apply_roles(
        migrated_postgres_url,
        "DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'half_informed') "
        "THEN CREATE ROLE half_informed; END IF; END $$; "
        "GRANT ALL ON SCHEMA postroom TO half_informed; "
        "GRANT ALL ON ALL TABLES IN SCHEMA postroom TO half_informed; "
        "REVOKE ALL ON postroom.migrations FROM half_informed",
    )
    with Outbox(migrated_postgres_url) as outbox, psycopg.connect(migrated_postgres_url) as connection:
        connection.execute("SET ROLE half_informed")
        receipt = outbox.enqueue(email(), connection=connection)
        connection.commit()

        assert outbox.get(receipt.id).status == "pending"


def test_gaps_and_the_order_of_applying_do_no_harm() -> None:
    backwards = [Applied(version=each.version, checksum="") for each in reversed(migrations("sqlite"))]
    applied = [each for each in backwards if each.version != 4]

    assert [each.version for each in missing("sqlite", applied)] == [4]
    assert missing("sqlite", [*backwards, Applied(version=77, checksum="")]) == []


@pytest.mark.parametrize(("line", "needs"), [("-- needs: 12", 12), ("-- needs: nothing", None), ("", None)])
def test_a_migration_says_which_code_works_beneath_it(line: str, needs: int | None) -> None:
    assert Migration(version=12, name="x", sql=f"-- What it does.\n{line}\nSELECT 1;").needs == needs


def test_what_a_migration_needs_is_kept_in_the_ledger(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that code which has not got the file can know."""
    later = Migration(version=9999, name="later", sql="-- needs: 9999\nSELECT 1;")
    with monkeypatch.context() as upgraded, Outbox(store_url) as outbox:
        upgraded.setattr(schema, "migrations", lambda name: (*migrations(name), later))
        assert [each.version for each in outbox.migrate()] == [9999]
    with Outbox(store_url) as outbox, pytest.raises(SchemaError, match=NEWER):
        outbox.counts()


def test_a_script_can_begin_after_a_version(store_url: str) -> None:
    with Outbox(store_url) as outbox:
        known = migrations(outbox.database.dialect.name)
        printed = script(outbox.database.dialect, [each for each in known if each.version > 5])

    assert f"VALUES ({known[-1].version}, " in printed
    assert "VALUES (5, " not in printed

"""Versioned migrations: plain SQL files, applied in order, each once, under a lock.

A migration only ever adds, so that workers of the version before go on while it is applied: columns come with
defaults, and what is no longer needed is removed one version later. An index may be replaced at once: without it their
statements are slower, not wrong.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Collection, Iterable
from importlib import resources
from typing import TYPE_CHECKING, Any

from postroom.errors import ConfigurationError
from postroom.store.deployment import stamp_if_nobody_has
from postroom.store.dialect import Dialect
from postroom.store.failures import gave_way, raise_plainly
from postroom.store.postgres.database import PostgresDatabase
from postroom.store.queries import place_tables, statements
from postroom.store.schema import Applied, Migration, check_texts, ledger_rows_sql, migrations, missing
from postroom.store.sqlite.database import SqliteDatabase

if TYPE_CHECKING:
    import psycopg


LOCK_TIMEOUT = "500ms"
"""For so long a migration waits for a table that is in use: meanwhile everybody who wants it waits behind. It is less
than the second after which PostgreSQL looks for transactions that wait for each other, so that no worker is ended."""
LONGER, EVERY = "1500ms", 5
"""Now and then for longer than that second: only then does PostgreSQL end a vacuum of its own that is in the way."""
PATIENCE = 120.0
"""Seconds after which a migration that had to give way does not begin anew."""
PAUSE = 0.2


def ledger_sql(dialect: Dialect) -> str:
    """The table that remembers what was applied."""
    if dialect.name == "sqlite":
        return (
            f"CREATE TABLE IF NOT EXISTS {dialect.tables}migrations "
            "(version INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, "
            "applied_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')))"
        )
    return (
        f"CREATE SCHEMA IF NOT EXISTS {dialect.tables.removesuffix('.')};\n"
        f"CREATE TABLE IF NOT EXISTS {dialect.tables}migrations "
        "(version integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, "
        "applied_at timestamptz NOT NULL DEFAULT now())"
    )


def note_sql(dialect: Dialect, migration: Migration) -> str:
    """The line that remembers one migration."""
    column, value = ("", "") if migration.needs is None else (", needs", f", {migration.needs}")
    return (
        f"INSERT INTO {dialect.tables}migrations (version, name, checksum{column}) "  # noqa: S608  (`tables` was checked)
        f"VALUES ({migration.version}, '{migration.name}', '{migration.checksum}'{value})"
    )


def script(dialect: Dialect, wanted: Collection[Migration] | None = None, *, deployment: str = "") -> str:
    """Migrations as one script, for people who apply schemas with their own tools; all of them if none are named.

    It stamps a database that is nobody's yet, if a deployment is named.
    """
    parts = [ledger_sql(dialect) + ";"]
    for migration in migrations(dialect.name) if wanted is None else wanted:
        parts.append(place_tables(migration.sql, dialect.tables).strip())
        parts.append(note_sql(dialect, migration) + ";")
    if deployment:
        parts.append(
            f"INSERT INTO {dialect.tables}deployment (place, name) "  # noqa: S608  (both were checked)
            f"VALUES (1, '{deployment}') ON CONFLICT (place) DO NOTHING;"
        )
    return "BEGIN;\n\n" + "\n\n".join(parts) + "\n\nCOMMIT;\n"


def pending(dialect: Dialect, applied: Iterable[Applied]) -> list[Migration]:
    """What is still to be applied. Refuses a database that needs later code, or differs from ours."""
    applied = list(applied)
    check_texts(dialect.name, applied)
    return missing(dialect.name, applied)


def roles_script(dialect: Dialect) -> str:
    """The role layout for PostgreSQL, to be run after the migrations, as somebody who may create roles."""
    if dialect.name != "postgres":
        raise ConfigurationError("SQLite has no roles; the file's permissions say who may do what")
    source = resources.files("postroom.store.postgres").joinpath("roles.sql").read_text("utf-8")
    schema = dialect.tables.removesuffix(".")
    return (
        place_tables(source, dialect.tables)
        .replace("SCHEMA postroom", f"SCHEMA {schema}")
        .replace("schemaname = 'postroom'", f"schemaname = '{schema}'")
    )


def migrate(database: SqliteDatabase | PostgresDatabase, *, deployment: str = "") -> list[Migration]:
    """Create or upgrade the schema; what was applied. Any number of processes may try at once.

    A database that is nobody's yet is stamped as that of the deployment, if one is named.
    """
    if isinstance(database, SqliteDatabase):
        return migrate_sqlite(database, deployment)
    return migrate_postgres(database, deployment)


def migrate_sqlite(database: SqliteDatabase, deployment: str = "") -> list[Migration]:
    """Create or upgrade the schema, in one transaction under the write lock; what was applied."""
    dialect = database.dialect
    try:
        with database.transaction() as connection:
            connection.execute(ledger_sql(dialect))
            todo = pending(dialect, map(Applied.read, connection.execute(ledger_rows_sql(dialect.tables)).fetchall()))
            for migration in todo:
                for statement in statements(place_tables(migration.sql, dialect.tables)):
                    connection.execute(statement)
                connection.execute(note_sql(dialect, migration))
            if deployment:
                database.run_on(connection, stamp_if_nobody_has(deployment))
            return todo
    except sqlite3.Error as error:
        raise_plainly(error)


def migrate_postgres(database: PostgresDatabase, deployment: str = "") -> list[Migration]:
    """Create or upgrade the schema, in one transaction under an advisory lock; what was applied.

    Workers go on meanwhile, and take the same tables in an order of their own. So it gives way to them, and begins
    anew: a table that somebody uses for longer than `PATIENCE` ends it, with nothing applied.
    """
    until, attempt = time.monotonic() + PATIENCE, 0
    while True:
        attempt += 1
        try:
            return _migrate_at_once(database, deployment, LOCK_TIMEOUT if attempt % EVERY else LONGER)
        except Exception as error:
            if not gave_way(error):
                raise
            if time.monotonic() >= until:
                raise_plainly(error)
        time.sleep(PAUSE)


def _migrate_at_once(database: PostgresDatabase, deployment: str, lock_timeout: str) -> list[Migration]:
    """All of it, or nothing where a table is not to be had soon."""
    dialect = database.dialect
    ledger = f"{dialect.tables}migrations"
    with database.transaction() as connection:
        connection.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (ledger,))
        connection.execute(f"SET LOCAL lock_timeout = '{lock_timeout}'".encode())
        # Asked first, so that a role which may not create anything can make sure that nothing is missing.
        [[exists]] = connection.execute("SELECT to_regclass(%s) IS NOT NULL", (ledger,)).fetchall()
        if not exists:
            for statement in statements(ledger_sql(dialect) + ";"):
                connection.execute(statement)
        rows = connection.execute(ledger_rows_sql(dialect.tables).encode()).fetchall()
        todo = pending(dialect, map(Applied.read, rows))
        for migration in todo:
            for statement in statements(place_tables(migration.sql, dialect.tables)):
                connection.execute(statement)
            connection.execute(note_sql(dialect, migration))
        if deployment and _may_stamp(connection, dialect):
            database.run_on(connection, stamp_if_nobody_has(deployment))
        return todo


def _may_stamp(connection: psycopg.Connection[Any], dialect: Dialect) -> bool:
    """An application may migrate where nothing is to be done, without the right to say whose database it is."""
    [[may]] = connection.execute(
        "SELECT has_table_privilege(%s, 'INSERT')", (f"{dialect.tables}deployment",)
    ).fetchall()
    return bool(may)

"""Versioned migrations: plain SQL files, applied in order, each once, under a lock.

A migration only ever adds, so that workers of the version before go on while it is applied: columns come with
defaults, and what is no longer needed is removed one version later. An index may be replaced at once: without it their
statements are slower, not wrong.
"""

from __future__ import annotations

import re
import sqlite3
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from importlib import resources

from postroom.errors import SchemaError
from postroom.store.dialect import Dialect
from postroom.store.failures import raise_plainly
from postroom.store.postgres.database import PostgresDatabase
from postroom.store.queries import place_tables, statements
from postroom.store.sqlite.database import SqliteDatabase

_FILE = re.compile(r"(\d{4})_(\w+)\.sql")


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One step of the schema."""

    version: int
    name: str
    sql: str = field(repr=False)

    @property
    def checksum(self) -> str:
        """Of the text, to notice a file that was changed after it had been applied."""
        return sha256(self.sql.encode()).hexdigest()


@lru_cache
def migrations(dialect_name: str) -> tuple[Migration, ...]:
    """The migrations of one database, in their order."""
    folder = resources.files(f"postroom.store.{dialect_name}").joinpath("migrations")
    found = [
        Migration(version=int(match[1]), name=match[2], sql=file.read_text("utf-8"))
        for file in folder.iterdir()
        if (match := _FILE.fullmatch(file.name))
    ]
    return tuple(sorted(found, key=lambda migration: migration.version))


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


def applied_sql(dialect: Dialect) -> str:
    """What was applied so far."""
    return f"SELECT version, checksum FROM {dialect.tables}migrations"  # noqa: S608  (`tables` was checked)


def note_sql(dialect: Dialect, migration: Migration) -> str:
    """The line that remembers one migration."""
    return (
        f"INSERT INTO {dialect.tables}migrations (version, name, checksum) "  # noqa: S608  (`tables` was checked)
        f"VALUES ({migration.version}, '{migration.name}', '{migration.checksum}')"
    )


def script(dialect: Dialect) -> str:
    """Everything as one script, for people who apply schemas with their own tools."""
    parts = [ledger_sql(dialect) + ";"]
    for migration in migrations(dialect.name):
        parts.append(place_tables(migration.sql, dialect.tables).strip())
        parts.append(note_sql(dialect, migration) + ";")
    return "BEGIN;\n\n" + "\n\n".join(parts) + "\n\nCOMMIT;\n"


def pending(dialect: Dialect, applied: dict[int, str]) -> list[Migration]:
    """What is still to be applied. Refuses a database that is newer than this code, or differs from it."""
    known = {migration.version: migration for migration in migrations(dialect.name)}
    for version, checksum in applied.items():
        if version not in known:
            raise SchemaError(
                f"the database is at schema version {version}, this Postroom knows up to {max(known)}; upgrade Postroom"
            )
        if known[version].checksum != checksum:
            raise SchemaError(
                f"schema version {version} in the database is not the one this Postroom ships; "
                "was it created by an unreleased version?"
            )
    return [migration for version, migration in known.items() if version not in applied]


def roles_script(dialect: Dialect) -> str:
    """The role layout for PostgreSQL, to be run after the migrations, as somebody who may create roles."""
    if dialect.name != "postgres":
        raise SchemaError("SQLite has no roles; the file's permissions say who may do what")
    source = resources.files("postroom.store.postgres").joinpath("roles.sql").read_text("utf-8")
    schema = dialect.tables.removesuffix(".")
    return (
        place_tables(source, dialect.tables)
        .replace("SCHEMA postroom", f"SCHEMA {schema}")
        .replace("schemaname = 'postroom'", f"schemaname = '{schema}'")
    )


def migrate(database: SqliteDatabase | PostgresDatabase) -> list[Migration]:
    """Create or upgrade the schema; what was applied. Any number of processes may try at once."""
    if isinstance(database, SqliteDatabase):
        return migrate_sqlite(database)
    return migrate_postgres(database)


def migrate_sqlite(database: SqliteDatabase) -> list[Migration]:
    """Create or upgrade the schema, in one transaction under the write lock; what was applied."""
    dialect = database.dialect
    try:
        with database.transaction() as connection:
            connection.execute(ledger_sql(dialect))
            applied = dict(connection.execute(applied_sql(dialect)).fetchall())
            todo = pending(dialect, applied)
            for migration in todo:
                for statement in statements(place_tables(migration.sql, dialect.tables)):
                    connection.execute(statement)
                connection.execute(note_sql(dialect, migration))
            return todo
    except sqlite3.Error as error:
        raise_plainly(error)


def migrate_postgres(database: PostgresDatabase) -> list[Migration]:
    """Create or upgrade the schema, in one transaction under an advisory lock; what was applied."""
    dialect = database.dialect
    ledger = f"{dialect.tables}migrations"
    with database.transaction() as connection:
        connection.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (ledger,))
        # Asked first, so that a role which may not create anything can make sure that nothing is missing.
        [[exists]] = connection.execute("SELECT to_regclass(%s) IS NOT NULL", (ledger,)).fetchall()
        if not exists:
            for statement in statements(ledger_sql(dialect) + ";"):
                connection.execute(statement)
        rows = connection.execute(applied_sql(dialect)).fetchall()
        todo = pending(dialect, dict(rows))
        for migration in todo:
            for statement in statements(place_tables(migration.sql, dialect.tables)):
                connection.execute(statement)
            connection.execute(note_sql(dialect, migration))
        return todo

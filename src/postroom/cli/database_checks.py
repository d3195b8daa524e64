"""What `postroom doctor` asks of the database itself."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from postroom.cli.checks import Finding, Level
from postroom.config import Settings
from postroom.errors import PostroomError, SchemaError
from postroom.store.deployment import refusal, stamp
from postroom.store.failures import missing_tables
from postroom.store.migrate import pending
from postroom.store.open import Database
from postroom.store.postgres.database import PostgresDatabase
from postroom.store.schema import Applied, ledger_rows_sql
from postroom.store.sqlite.database import SqliteDatabase

_OLDEST_POSTGRES = 14
_SKEW = timedelta(seconds=2)
_NETWORK = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "9p", "fuse.sshfs", "fuse.glusterfs", "fuse.s3fs")
"""File systems on which SQLite's locks and shared memory cannot be relied on."""


def check_schema(database: Database) -> Finding:
    """Whether the tables are those that this version of Postroom works with."""
    remedy = "run `postroom migrate`"
    try:
        applied = applied_in(database)
        todo = pending(database.dialect, applied)
    except SchemaError as error:
        return Finding(name="schema", level=Level.FAIL, detail=str(error), remedy=remedy)
    if todo:
        names = ", ".join(f"{migration.version:04d} {migration.name}" for migration in todo)
        return Finding(name="schema", level=Level.FAIL, detail=f"not applied yet: {names}", remedy=remedy)
    newest = max(each.version for each in applied)
    return Finding(name="schema", level=Level.OK, detail=f"version {newest}, up to date")


def check_deployment(database: Database, settings: Settings) -> Finding:
    """Whether this process may send from this database, and a copy of it could not."""
    found = database.run(stamp(), writes=False)
    if foreign := refusal(found, settings.deployment):
        remedy = "adopt it, migrate it, or correct the settings, as it says"
        return Finding(name="deployment", level=Level.FAIL, detail=str(foreign), remedy=remedy)
    if found is not None:
        return Finding(name="deployment", level=Level.OK, detail=f"the database and the settings say {found.name}")
    return Finding(
        name="deployment",
        level=Level.OK,
        detail="none is named: a copy of this database would be sent from like the original",
        remedy="set POSTROOM_DEPLOYMENT, such as production, and run `postroom migrate`",
    )


def check_database(database: Database, *, lease: timedelta) -> Iterator[Finding]:
    """Whether the database keeps what it is given, and goes by the right time."""
    if isinstance(database, SqliteDatabase):
        yield _check_journal(database)
        yield _check_file_system(database.path)
        yield _check_mode(database.path)
    else:
        yield _check_version(database)
        yield _check_durability(database)
        yield _check_clock(database, lease=lease)


def file_system_of(path: Path, mounts: str) -> str:
    """The type of the file system a path is on, by the kernel's table of mounts; empty where it does not tell."""
    found, longest = "", -1
    for line in mounts.splitlines():
        _device, place, kind, *_ = [*line.split(" "), "", "", ""]
        folder = Path(place.encode().decode("unicode_escape"))  # spaces are written \040
        if place and path.is_relative_to(folder) and len(folder.parts) >= longest:
            found, longest = kind, len(folder.parts)
    return found


def applied_in(database: Database) -> list[Applied]:
    """What was applied so far, also where the rest of the tables may not be those of this version."""
    try:
        return [Applied.read(row) for row in _ask(database, ledger_rows_sql(database.dialect.tables))]
    except PostroomError:
        raise
    except Exception as error:
        if (missing := missing_tables(error)) is None:
            raise
        raise missing from error


def _ask(database: Database, sql: str) -> list[Any]:
    if isinstance(database, SqliteDatabase):
        with database.connection() as file:
            return file.execute(sql).fetchall()
    with database.connection() as connection:
        return connection.execute(sql.encode()).fetchall()


def _check_journal(database: SqliteDatabase) -> Finding:
    [[mode]] = _ask(database, "PRAGMA journal_mode")
    if mode == "wal":
        return Finding(name="journal", level=Level.OK, detail="write-ahead log, synchronous")
    return Finding(
        name="journal",
        level=Level.WARN,
        detail=f"journal mode is {mode}: readers and the worker hold each other up",
        remedy="put the file on a local disk, where SQLite can keep a write-ahead log",
    )


def _check_file_system(path: Path) -> Finding:
    try:
        kind = file_system_of(path.resolve(), Path("/proc/self/mounts").read_text())
    except OSError:
        kind = ""
    if kind in _NETWORK:
        return Finding(
            name="disk",
            level=Level.FAIL,
            detail=f"{path} is on {kind}, where SQLite cannot lock reliably",
            remedy="move the file to a local disk, or use PostgreSQL",
        )
    return Finding(name="disk", level=Level.OK, detail=f"{path} is on {kind or 'a local disk'}")


def _check_mode(path: Path) -> Finding:
    """Whether people with an account on this machine can read everybody's mail. A group was let in by somebody."""
    beside = [path, *(path.with_name(path.name + ending) for ending in ("-wal", "-shm"))]
    open_to_all = [file for file in beside if file.exists() and os.name == "posix" and file.stat().st_mode & 0o007]
    if not open_to_all:
        return Finding(name="mode", level=Level.OK, detail=f"{path} is closed to other people of this machine")
    names = " ".join(str(file) for file in open_to_all)
    return Finding(
        name="mode",
        level=Level.WARN,
        detail=f"everybody with an account on this machine can open {open_to_all[0]}, and read the emails in it",
        remedy=f"chmod o= {names}",
    )


def _check_version(database: PostgresDatabase) -> Finding:
    [[version]] = _ask(database, "SHOW server_version")
    [[number]] = _ask(database, "SELECT current_setting('server_version_num')::int / 10000")
    if number >= _OLDEST_POSTGRES:
        return Finding(name="server", level=Level.OK, detail=f"PostgreSQL {version}")
    return Finding(
        name="server",
        level=Level.FAIL,
        detail=f"PostgreSQL {version} is too old",
        remedy=f"Postroom needs {_OLDEST_POSTGRES} or newer",
    )


def _check_durability(database: PostgresDatabase) -> Finding:
    [[fsync, synchronous]] = _ask(database, "SELECT current_setting('fsync'), current_setting('synchronous_commit')")
    if fsync == "on" and synchronous != "off":
        return Finding(name="durability", level=Level.OK, detail="a commit is on disk when it returns")
    return Finding(
        name="durability",
        level=Level.WARN,
        detail=f"fsync is {fsync} and synchronous_commit {synchronous}: a crash may lose committed emails",
        remedy="turn both on in postgresql.conf",
    )


def _check_clock(database: Database, *, lease: timedelta) -> Finding:
    """Due times and leases go by the database's clock; ours may differ by much less than a lease."""
    before = datetime.now(UTC)
    [[theirs]] = _ask(database, "SELECT clock_timestamp()")  # not by a plan: the tables may not be ours
    after = datetime.now(UTC)
    skew = max(before - theirs, theirs - after, timedelta(0))
    if skew < _SKEW:
        return Finding(name="clock", level=Level.OK, detail="the database's clock and ours agree")
    return Finding(
        name="clock",
        level=Level.WARN if skew < lease / 2 else Level.FAIL,
        detail=f"the database's clock is {skew.total_seconds():.1f} s from ours",
        remedy="let both machines take their time from NTP",
    )

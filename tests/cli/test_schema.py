"""migrate."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from postroom import Outbox
from tests.cli.conftest import CommandLine


def test_a_second_migration_does_nothing(postroom: CommandLine) -> None:
    first, second = postroom("migrate"), postroom("migrate")

    assert first.code == second.code == 0
    assert "applied 0001" in first.out
    assert "applied" not in second.out
    assert "up to date" in second.out


def test_the_printed_script_makes_the_schema_that_migrate_makes(postroom: CommandLine, tmp_path: Path) -> None:
    script = postroom("migrate", "--sql").out
    with sqlite3.connect(tmp_path / "outbox.db") as connection:
        connection.executescript(script)
    connection.close()

    answer = postroom("migrate")

    assert answer.code == 0
    assert "applied" not in answer.out


def test_printing_the_script_needs_no_database_and_makes_no_file(postroom: CommandLine, tmp_path: Path) -> None:
    answer = postroom("migrate", "--sql", "--roles", "--database", "postgresql://nobody:hush-hush@127.0.0.1:1/none")

    assert answer.code == 0
    assert "CREATE TABLE postroom.emails" in answer.out
    assert "postroom_reader" in answer.out
    assert "hush-hush" not in answer.out
    assert list(tmp_path.iterdir()) == []


def test_tables_can_live_under_another_name(postroom: CommandLine, sqlite_url: str) -> None:
    postroom("--tables", "mail", "migrate")

    with Outbox(sqlite_url, tables="mail") as outbox:
        assert outbox.counts()["pending"] == 0
    assert postroom("list").code == 2
    assert postroom("list", "--tables", "mail").code == 0


def test_sqlite_has_no_roles_and_nothing_is_changed(postroom: CommandLine, tmp_path: Path) -> None:
    """(B9)"""
    answer = postroom("migrate", "--roles")

    assert answer.code == 2
    assert "SQLite has no roles" in answer.err
    assert list(tmp_path.iterdir()) == []

"""migrate."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from postroom import Outbox
from postroom.store import schema
from postroom.store.schema import migrations
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
    assert postroom("list").code == 1
    assert postroom("list", "--tables", "mail").code == 0


def test_sqlite_has_no_roles_and_nothing_is_changed(postroom: CommandLine, tmp_path: Path) -> None:
    """(B9)"""
    answer = postroom("migrate", "--roles")

    assert answer.code == 2
    assert "SQLite has no roles" in answer.err
    assert list(tmp_path.iterdir()) == []


def without_the_last(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """A database as the version before left it."""
    with monkeypatch.context() as before, Outbox(url) as outbox:
        before.setattr(schema, "migrations", lambda name: migrations(name)[:-1])
        outbox.migrate()


READING = [["list"], ["show", "0"], ["stats"], ["events"], ["prune"], ["route", "list"], ["user", "list"]]
WORKING = [["worker", "--until-idle", "--smtp", "smtp://127.0.0.1:1"], ["send", "--to", "a@b.example", "--text", "x"]]


@pytest.mark.parametrize("command", [*READING, *WORKING], ids=lambda words: words[0])
@pytest.mark.parametrize("older", [True, False], ids=["older", "absent"])
@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_every_command_says_in_one_line_that_the_tables_have_to_be_migrated(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, database: str, command: list[str], older: bool
) -> None:
    """Before it does anything: a worker of today on the tables of yesterday used to send an email first."""
    url = str(request.getfixturevalue(f"{database}_url"))
    if older:
        without_the_last(monkeypatch, url)
    elif database == "sqlite":
        sqlite3.connect(url.removeprefix("sqlite:///")).close()
    if command == ["show", "0"]:
        command = ["show", "01900000-0000-7000-8000-000000000000"]
    answer = CommandLine(url)(*command)

    assert answer.code == 1
    [line] = answer.err.splitlines()
    assert "run `postroom migrate`" in line


def test_every_command_says_that_the_tables_need_a_later_postroom(postroom: CommandLine, outbox: Outbox) -> None:
    with outbox.transaction() as connection:
        connection.execute(
            "INSERT INTO postroom_migrations (version, name, checksum, needs) VALUES (9999, 'later', 'x', 9999)"
        )
    for command in (["list"], ["worker", "--until-idle", "--smtp", "smtp://127.0.0.1:1"], ["migrate"]):
        answer = postroom(*command)

        assert (answer.code, "upgrade Postroom" in answer.err) == (1, True)


def test_a_check_says_what_is_missing_and_changes_nothing(
    postroom: CommandLine, tmp_path: Path, sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = postroom("migrate", "--check")
    assert (nothing.code, "not applied: 0001 outbox" in nothing.out, list(tmp_path.iterdir())) == (1, True, [])

    without_the_last(monkeypatch, sqlite_url)
    older = postroom("migrate", "--check")
    newest = migrations("sqlite")[-1]
    assert (older.code, older.out) == (1, f"not applied: {newest}\n")

    postroom("migrate")
    assert postroom("migrate", "--check").code == 0


def test_a_script_from_the_version_that_the_database_has_brings_it_up_to_date(
    postroom: CommandLine, sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_the_last(monkeypatch, sqlite_url)
    before, newest = migrations("sqlite")[-2:]
    looked, said = (
        postroom("migrate", "--sql", "--from", "database"),
        postroom("migrate", "--sql", "--from", str(before.version)),
    )
    assert looked.out == said.out
    assert f"VALUES ({before.version}," not in said.out

    with sqlite3.connect(sqlite_url.removeprefix("sqlite:///")) as connection:
        connection.executescript(said.out)
    connection.close()
    assert f"VALUES ({newest.version}," in said.out
    assert postroom("migrate", "--check").code == 0


@pytest.mark.parametrize("said", [["--from", "3"], ["--sql", "--from", "six"], ["--sql", "--check"]])
def test_what_does_not_go_together_is_refused(postroom: CommandLine, said: list[str]) -> None:
    assert postroom("migrate", *said).code == 2

"""How commands end that cannot do what they were asked: one line with a remedy, and a code for scripts."""

from __future__ import annotations

from pathlib import Path

import pytest

from postroom import Outbox, __version__
from tests.cli.conftest import CommandLine, enqueue


@pytest.mark.parametrize(
    ("database", "code", "remedy"),
    [
        ("mysql://db/app", 2, "sqlite:///file.db"),
        ("sqlite:///absent.db", 2, "postroom migrate"),
        ("sqlite:///absent/outbox.db", 2, "there is no folder absent"),
        ("sqlite:///empty.db", 1, "postroom migrate"),
        ("sqlite:///junk.db", 3, "--database or POSTROOM_DATABASE"),
        ("postgresql://ada:s3cret@127.0.0.1:1/app", 3, "--database or POSTROOM_DATABASE"),
        ("postgresql://ada:s3cret@127.0.0.1:1/app?colour=blue", 2, "colour"),
    ],
)
def test_a_database_that_cannot_be_used_is_told_with_a_remedy(
    postroom: CommandLine, tmp_path: Path, database: str, code: int, remedy: str
) -> None:
    (tmp_path / "empty.db").touch()
    (tmp_path / "junk.db").write_text("This is no database, and long enough for SQLite to notice that it is none." * 20)

    answer = postroom("list", "--database", database)

    assert answer.code == code
    assert answer.out == ""
    assert answer.err.startswith("postroom: ")
    assert answer.err.count("\n") == 1
    assert remedy in answer.err
    assert "s3cret" not in answer.err
    assert not (tmp_path / "absent.db").exists()


@pytest.mark.parametrize(
    ("text", "policies"),
    [
        ("lease = [", None),
        ("leese = '30s'", None),
        ("lease = 'soon'", None),
        ("", "{not json"),
        ("", '{"mine": {"stpes": []}}'),
    ],
)
def test_settings_that_cannot_be_read_are_told_in_one_line(
    postroom: CommandLine,
    outbox: Outbox,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    policies: str | None,
) -> None:
    (tmp_path / "postroom.toml").write_text(text)
    if policies is not None:
        monkeypatch.setenv("POSTROOM_POLICIES", policies)

    answer = postroom("list")

    assert answer.code == 2
    assert answer.err.startswith("postroom: ")
    assert answer.err.count("\n") == 1


def test_a_file_of_settings_that_is_not_there_is_told(postroom: CommandLine, outbox: Outbox) -> None:
    answer = postroom("list", "--config", "absent.toml")

    assert answer.code == 2
    assert "absent.toml" in answer.err


@pytest.mark.parametrize("arguments", [("lits",), ("list", "--status", "lost"), ("list", "--limit", "0"), ("show",)])
def test_a_command_that_makes_no_sense_is_a_matter_of_usage(postroom: CommandLine, arguments: tuple[str, ...]) -> None:
    answer = postroom(*arguments)

    assert answer.code == 2
    assert "Usage" in answer.err


def test_what_is_said_after_the_command_goes_before_what_was_said_before_it(
    postroom: CommandLine, outbox: Outbox, tmp_path: Path, sqlite_url: str
) -> None:
    enqueue(outbox)
    other = f"sqlite:///{tmp_path}/other.db"
    postroom("--database", other, "migrate")

    assert postroom("--database", other, "stats", "--json").json["counts"]["pending"] == 0
    assert postroom("--database", other, "stats", "--database", sqlite_url, "--json").json["counts"]["pending"] == 1


def test_the_version_is_told(postroom: CommandLine) -> None:
    assert postroom("--version").out == f"postroom {__version__}\n"

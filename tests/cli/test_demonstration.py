"""demo."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import CommandLine


def test_the_demo_tells_its_story_and_every_command_it_recommends_works(
    postroom: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = postroom("demo", "--once", "--directory", str(tmp_path / "demo"))

    assert told.code == 0
    assert "rolled back" in told.out
    assert "duplicate" in told.out
    assert "the mail server stops" in told.out
    assert "fell back to the outbox" in told.out
    assert "21 enqueued = 21 sent" in told.out
    assert "21 of 21 emails arrived, each of them once; 4 of them left by the backup." in told.out
    _, recommended = told.out.split("Try next")
    export, *commands = [line.strip() for line in recommended.splitlines() if line.strip()]
    postroom.database = shlex.split(export)[1].removeprefix("POSTROOM_DATABASE=")
    for command in commands:
        arguments = command.partition("postroom.cli " if "postroom.cli " in command else "postroom ")[2]
        assert postroom(*shlex.split(arguments)).code == 0, command


def test_the_second_outage_of_the_demo_is_covered_by_a_backup(postroom: CommandLine, tmp_path: Path) -> None:
    """The history of the emails, the sentence of the desk and the servers agree."""
    told = postroom("demo", "--once", "--directory", str(tmp_path)).out.partition("the mail server stops again")[2]

    assert "4 emails left by the backup within" in told
    assert "says: from default to backup: no connection" in told
    assert "its due emails leave by backup" in told
    assert "the next welcome left by it, as if nothing had happened" in told


def test_the_demo_keeps_away_from_the_ways_out_of_whoever_plays_it(
    postroom: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Example mail never leaves by a real server, whatever the settings say."""
    monkeypatch.setenv("POSTROOM_SMTP", "smtp://mail.invalid")
    (tmp_path / "postroom.toml").write_text(
        '[routes.default]\nfallback = "real"\n[routes.real]\ntransport = "smtp://mail.invalid"\n'
        '[[routing]]\nroute = "real"\nkind = "*"\n'
    )
    told = postroom("demo", "--once", "--directory", str(tmp_path / "demo"))

    assert "21 of 21 emails arrived, each of them once; 4 of them left by the backup." in told.out


def test_a_demo_that_was_rolled_back_leaves_no_trace(postroom: CommandLine, tmp_path: Path) -> None:
    postroom("demo", "--once", "--directory", str(tmp_path))

    answer = postroom("list", "--recipient", "charles@example.org", "--database", f"sqlite:///{tmp_path}/demo.db")

    assert answer.code == 0
    assert answer.out == ""


def test_the_demo_can_be_played_again_in_the_same_folder(postroom: CommandLine, tmp_path: Path) -> None:
    first, second = (postroom("demo", "--once", "--directory", str(tmp_path)) for _ in range(2))

    assert (first.code, second.code) == (0, 0)
    assert "Nothing is lost" in second.out

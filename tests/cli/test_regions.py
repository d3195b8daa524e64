"""Commands where there are regions: one of them is named, or all are meant, or nothing is done (C1)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from postroom import Outbox
from postroom.cli.app import app
from tests.cli.conftest import Answer, enqueue
from tests.regions.continents import silent_server

TABLE = """
sender = "desk@example.org"
[regions.deu1]
database = "sqlite:///deu1.db"
[regions.usa1]
database = "sqlite:///usa1.db"
"""


def postroom(*arguments: str) -> Answer:
    """The command line in this folder, where `postroom.toml` names the regions."""
    result = CliRunner().invoke(app, list(arguments))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Answer(code=result.exit_code, out=result.stdout, err=result.stderr)


@pytest.fixture(autouse=True)
def regions(own_surroundings: None, tmp_path: Path) -> None:
    (tmp_path / "postroom.toml").write_text(TABLE)


@pytest.fixture
def migrated(regions: None) -> None:
    assert postroom("migrate", "--all-regions").code == 0


def commands(group: Any, *before: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command there is, by the words that call it."""
    for name, each in group.commands.items():
        if hasattr(each, "commands"):
            yield from commands(each, *before, name)
        else:
            yield (*before, name), each


EVERY_COMMAND = dict(commands(get_command(app)))


@pytest.mark.parametrize("words", EVERY_COMMAND, ids=" ".join)
def test_every_command_takes_a_region(words: tuple[str, ...]) -> None:
    options = {option for parameter in EVERY_COMMAND[words].params for option in parameter.opts}

    assert "--region" in options


def test_what_is_said_of_one_region_is_done_in_it_alone(migrated: None) -> None:
    """Before the name of a command and after it."""
    sending = ["send", "--to", "ada@example.org", "--subject", "Hi", "--text", "Hello"]

    assert [postroom("--region", "deu1", *sending).code, postroom(*sending, "--region", "deu1").code] == [0, 0]
    assert postroom("stats", "--json", "--region", "deu1").json["counts"]["pending"] == 2
    assert postroom("stats", "--json", "--region", "usa1").json["counts"]["pending"] == 0


@pytest.mark.parametrize("words", [("list",), ("stats",), ("worker",), ("migrate",), ("user", "list")], ids=" ".join)
def test_no_database_is_guessed(words: tuple[str, ...], tmp_path: Path) -> None:
    answer = postroom(*words)

    assert answer.code == 2
    assert "the regions are deu1, usa1; name one, as --region deu1" in answer.err
    assert not (tmp_path / "postroom.db").exists()


def test_an_unknown_region_is_told_with_those_there_are() -> None:
    answer = postroom("list", "--region", "due1")

    assert answer.code == 2
    assert "did you mean deu1? The known ones are deu1, usa1" in answer.err


def test_the_environment_may_name_the_region(migrated: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTROOM_REGION", "usa1")

    assert postroom("stats").code == 0


def test_a_database_that_is_named_needs_no_region(migrated: None) -> None:
    assert postroom("stats", "--database", "sqlite:///deu1.db").code == 0


@pytest.mark.parametrize(
    "said", [("--region", "deu1"), ("--database", "sqlite:///deu1.db")], ids=["region", "database"]
)
def test_all_and_one_exclude_each_other(said: tuple[str, str]) -> None:
    answer = postroom("migrate", "--all-regions", *said)

    assert answer.code == 2
    assert f"--all-regions and {said[0]} exclude each other" in answer.err


def test_all_regions_want_some(tmp_path: Path) -> None:
    (tmp_path / "postroom.toml").unlink()

    answer = postroom("region", "list")

    assert answer.code == 2
    assert "no regions are known" in answer.err


def test_trouble_in_one_region_keeps_nobody_from_the_others(tmp_path: Path) -> None:
    (tmp_path / "postroom.toml").write_text(TABLE + '[regions.sgp1]\ndatabase = "sqlite:///missing/folder/sgp1.db"\n')

    answer = postroom("migrate", "--all-regions")

    assert answer.code == 2
    assert "there is no folder" in answer.err
    assert postroom("stats", "--region", "usa1").code == 0


def test_the_list_tells_of_each_region_or_why_it_cannot(migrated: None, tmp_path: Path) -> None:
    with Outbox("sqlite:///usa1.db") as usa1:
        enqueue(usa1, to="bob@usa1.example")
    with silent_server() as url:
        more = f'[regions.sgp1]\ndatabase = "{url}"\n[regions.jpn1]\n[regions.aus1]\ndatabase = "sqlite:///aus1.db"\n'
        (tmp_path / "postroom.toml").write_text(TABLE + more)
        answer, shown = postroom("region", "list", "--json"), postroom("stats", "--all-regions")

    told = {region["name"]: region for region in answer.json["regions"]}
    assert answer.code == 3
    assert list(told) == ["deu1", "usa1", "sgp1", "jpn1", "aus1"]
    assert {name: region["reach"] for name, region in told.items()} == {
        "deu1": "reached",
        "usa1": "reached",
        "sgp1": "away",
        "jpn1": "unknown",
        "aus1": "unready",
    }
    assert (told["usa1"]["counts"]["pending"], told["usa1"]["workers"]["alive"]) == (1, 0)
    assert "cannot be reached" in told["sgp1"]["reason"]
    assert "POSTROOM_REGIONS__JPN1__DATABASE" in told["jpn1"]["reason"]
    assert "there is no outbox" in told["aus1"]["reason"]
    assert not (tmp_path / "aus1.db").exists()
    assert "bob" not in answer.out + shown.out
    assert "sgp1: the database" in shown.out


def test_the_doctor_examines_every_region(migrated: None) -> None:
    answer = postroom("doctor", "--all-regions", "--json")

    assert set(answer.json["regions"]) == {"deu1", "usa1"}
    assert all(check["name"] for region in answer.json["regions"].values() for check in region["checks"])


def test_a_worker_says_which_regions_it_leaves_out(tmp_path: Path) -> None:
    off = TABLE.replace('usa1.db"', 'usa1.db"\nworker_enabled = false').replace(
        'deu1.db"', 'deu1.db"\nworker_enabled = false'
    )
    (tmp_path / "postroom.toml").write_text(off)

    answer = postroom("worker", "--all-regions")

    assert answer.code == 0
    assert "deu1 is left out: its worker is not enabled" in answer.err


def test_a_worker_of_a_region_that_is_switched_off_sends_nothing(
    migrated: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """(C7)"""
    monkeypatch.setenv("EMAIL_WORKER_ENABLED__DEU1", "false")

    answer = postroom("worker", "--region", "deu1", "--until-idle")

    assert answer.code == 0
    assert "sends nothing" in answer.err

"""The whole command line once on PostgreSQL, where ids, clocks and roles are others."""

from __future__ import annotations

import psycopg
import pytest

from postroom import Outbox
from tests.cli.conftest import CommandLine, enqueue_dead, enqueue_sent


@pytest.fixture
def postroom(postgres_url: str) -> CommandLine:
    return CommandLine(postgres_url)


def test_every_verb_works_on_postgresql(postroom: CommandLine, postgres_url: str) -> None:
    assert postroom("list").code == 1
    assert "applied 0001" in postroom("migrate").out
    assert "up to date" in postroom("migrate").out
    with Outbox(postgres_url, sender="desk@example.org") as outbox:
        enqueue_sent(outbox)
        dead, wrong, spare = (enqueue_dead(outbox, subject=subject) for subject in ("Dead", "Wrong", "Spare"))
    sent = postroom("send", "--to", "ada@example.org", "--text", "Hello", "--key", "k", "--json").json

    assert postroom("send", "--to", "ada@example.org", "--text", "Hello", "--key", "k", "--json").json["duplicate"]
    assert postroom("retry", dead).code == 0
    assert postroom("replay", wrong, "--to", "right@example.org").code == 0
    assert postroom("dismiss", "--subject", "spare", "--yes", "--json").json["applied"] == 1
    assert postroom("cancel", sent["id"], "--by", "grace").code == 0
    assert postroom("show", sent["id"], "--json").json["history"][-1]["actor"] == "grace"
    assert postroom("show", spare).code == 1
    assert postroom("prune", "--older-than", "0s", "--json").json["removed"] == 2
    assert {found["id"] for found in postroom("list", "--json").json["emails"]} == {dead, wrong}
    stats = postroom("stats", "--check", "--json")
    assert stats.code == 0
    assert stats.json["conservation"]["enqueued"] == 5


def test_doctor_knows_the_server_its_durability_and_its_clock(postroom: CommandLine) -> None:
    postroom("migrate")

    answer = postroom("doctor", "--json")

    found = {check["name"]: check["level"] for check in answer.json["checks"]}
    assert answer.code == 0
    assert (found["server"], found["schema"], found["clock"], found["conservation"]) == ("ok", "ok", "ok", "ok")
    assert "durability" in found


def test_the_roles_are_created_with_the_tables(postroom: CommandLine, postgres_url: str) -> None:
    """(B9)"""
    answer = postroom("migrate", "--roles")

    assert answer.code == 0
    with psycopg.connect(postgres_url) as connection:
        [owner] = connection.execute("SELECT tableowner FROM pg_tables WHERE tablename = 'contents'").fetchone() or [
            None
        ]
    assert owner == "postroom_owner"


def test_a_refusal_of_the_server_is_told_in_one_line(postroom: CommandLine, postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA postroom")
        connection.execute("CREATE TABLE postroom.emails (id uuid)")

    answer = postroom("migrate")

    assert answer.code == 3
    assert "already exists" in answer.err
    assert answer.err.count("\n") == 1

"""prune."""

from __future__ import annotations

import json
import stat
from pathlib import Path

from postroom import Outbox, Status
from tests.cli.conftest import CommandLine, enqueue, enqueue_dead, enqueue_sent


def test_finished_emails_past_retention_are_removed(postroom: CommandLine, outbox: Outbox) -> None:
    enqueue_sent(outbox)
    dead, waiting = enqueue_dead(outbox), enqueue(outbox)

    kept = postroom("prune", "--json").json
    removed = postroom("prune", "--older-than", "0s", "--json").json

    assert kept["removed"] == 0
    assert removed["removed"] == 1
    assert outbox.counts()["pruned"] == 1
    assert outbox.get(dead).status is Status.DEAD
    assert outbox.get(waiting).status is Status.PENDING
    assert outbox.conservation().holds


def test_the_dead_are_removed_when_they_are_named(postroom: CommandLine, outbox: Outbox) -> None:
    enqueue_dead(outbox)

    answer = postroom("prune", "--older-than", "0s", "--status", "dead")

    assert (answer.code, answer.out) == (0, "removed 1 email\n")
    assert outbox.counts()["dead"] == 0


def test_what_is_not_finished_cannot_be_pruned(postroom: CommandLine, outbox: Outbox) -> None:
    id = enqueue(outbox)

    answer = postroom("prune", "--older-than", "0s", "--status", "pending")

    assert answer.code == 2
    assert "sent, cancelled, dead" in answer.err
    assert outbox.get(id).status is Status.PENDING


def test_an_archive_holds_what_was_removed_and_is_for_its_owner_alone(
    postroom: CommandLine, outbox: Outbox, tmp_path: Path
) -> None:
    id = enqueue_sent(outbox)

    postroom("prune", "--older-than", "0s", "--archive", "archive.jsonl")

    [line] = (tmp_path / "archive.jsonl").read_text("utf-8").splitlines()
    assert json.loads(line)["id"] == id
    assert json.loads(line)["text"] == "Hello"
    assert stat.S_IMODE((tmp_path / "archive.jsonl").stat().st_mode) == 0o600


def test_a_dry_run_only_counts(postroom: CommandLine, outbox: Outbox) -> None:
    enqueue_sent(outbox)

    answer = postroom("prune", "--older-than", "0s", "--dry-run", "--json")

    assert answer.json == {"dry_run": True, "removed": 1, "swept": 0}
    assert outbox.counts()["sent"] == 1


def test_an_archive_that_cannot_be_written_keeps_the_emails(postroom: CommandLine, outbox: Outbox) -> None:
    enqueue_sent(outbox)

    answer = postroom("prune", "--older-than", "0s", "--archive", "absent/archive.jsonl")

    assert answer.code == 1
    assert "absent/archive.jsonl" in answer.err
    assert outbox.counts()["sent"] == 1

"""`postroom events`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from postroom import Outbox
from tests.cli.conftest import CommandLine, enqueue, enqueue_dead


def test_events_are_told_line_by_line_oldest_first(postroom: CommandLine, outbox: Outbox) -> None:
    id = enqueue_dead(outbox)
    outbox.retry(id)

    lines = postroom("events").out.splitlines()

    assert [line.split()[2:5] for line in lines] == [["dead", id, "1"], ["pending", id, "0"]]


def test_for_programs_each_line_is_a_json_object_and_its_id_leads_on(postroom: CommandLine, outbox: Outbox) -> None:
    id = enqueue_dead(outbox)
    outbox.retry(id)

    first, second = map(json.loads, postroom("events", "--json").out.splitlines())
    [again] = map(json.loads, postroom("events", "--json", "--after", first["id"]).out.splitlines())

    assert again == second
    assert (second["event"], second["email_id"], second["attempts"]) == ("pending", id, 0)
    assert set(second) == {
        "id", "at", "event", "email_id", "attempts", "kind", "workspace", "route", "channel", "key",
    }  # fmt: skip


def test_events_can_be_chosen(postroom: CommandLine, outbox: Outbox) -> None:
    id = enqueue_dead(outbox)
    outbox.retry(id)
    outbox.cancel(id)

    assert len(postroom("events", "--of", "dead", "--of", "cancelled").out.splitlines()) == 2
    assert postroom("events", "--kind", "invoice").out == ""
    assert "cancelled" in postroom("events", "--tail", "1").out
    assert len(postroom("events", "--tail", "1").out.splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--after", "yesterday"), "no event's id"),
        (("--after", "0.1.1", "--tail", "3"), "exclude each other"),
        (("--follow", "--interval", "0s"), "--interval"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    postroom: CommandLine, outbox: Outbox, options: tuple[str, ...], words: str
) -> None:
    answer = postroom("events", *options)

    assert (answer.code, words in answer.err) == (2, True)


def test_following_goes_on_as_things_happen_and_ends_well(outbox: Outbox, tmp_path: Path) -> None:
    before = enqueue_dead(outbox)
    following = subprocess.Popen(
        [sys.executable, "-m", "postroom.cli", "events", "--follow", "--json", "--interval", "0.1s"],
        env=os.environ | {"POSTROOM_DATABASE": outbox.database_url},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    assert following.stdout is not None
    try:
        first = json.loads(following.stdout.readline())
        later = enqueue(outbox)
        outbox.cancel(later)
        second = json.loads(following.stdout.readline())
        following.send_signal(signal.SIGINT)
        out, err = following.communicate(timeout=60)
    finally:
        following.kill()

    assert (first["email_id"], first["event"]) == (before, "dead")
    assert (second["email_id"], second["event"]) == (later, "cancelled")
    assert (following.returncode, out, err) == (0, "", "")

"""`postroom stats --watch`: the same numbers, live in a terminal (B6)."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from postroom import Outbox, Status
from postroom.cli.app import app
from postroom.cli.picture import MOST_WORKERS, picture
from postroom.cli.watching import Look, interval_in_seconds, line
from postroom.errors import ConfigurationError
from postroom.operate import Operations, Standing
from postroom.store import heartbeats
from postroom.work import breakers
from tests.store.journey import Clock, bring_to


def look(outbox: Outbox) -> Standing:
    return Operations(outbox).standing()


def drawn(now: Standing, rates: dict[str, float | None] | None = None) -> str:
    console = Console(width=120, height=80, record=True, file=open(os.devnull, "w"))  # noqa: SIM115
    console.print(picture(now, rates=rates or dict.fromkeys(now.totals)))
    console.file.close()
    return console.export_text()


def command(url: str, *options: str) -> list[str]:
    return [sys.executable, "-m", "postroom.cli", "stats", "--watch", "--database", url, *options]


@contextmanager
def at_a_terminal(url: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """The command, and the keyboard and screen of whoever sits there."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120", "LINES": "50"}
    process = subprocess.Popen(command(url), stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    try:
        yield process, ours
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def read_until(screen: int, words: bytes) -> bytes:
    seen = b""
    while words not in seen:
        seen += os.read(screen, 65536)
    return seen


def test_the_picture_shows_counts_what_happened_workers_and_ways_out(outbox: Outbox, clock: Clock) -> None:
    bring_to(outbox, Status.DEAD)
    bring_to(outbox, Status.PENDING)
    outbox.database.run(heartbeats.beat("cellar-7", host="cellar", version="1", in_flight=12, rate=3.5))
    outbox.database.run(breakers.pause("smtp.example.org:587", "holidays"))
    clock.advance(seconds=5)

    now = look(outbox)
    shown = drawn(now, {**dict.fromkeys(now.totals, 0.0), "sent": 41.5})

    for words in (
        "dead",
        "taken over",
        "41.5",
        "cellar-7",
        "5 s ago",
        "12",
        "smtp.example.org:587",
        "paused",
        "holidays",
    ):
        assert words in shown
    assert "oldest due: 5 s ago" in shown


def test_the_picture_of_an_outbox_without_workers_says_so(outbox: Outbox) -> None:
    shown = drawn(look(outbox))

    assert "No worker has signed on." in shown
    assert "nothing is due" in shown


def test_a_crowd_of_workers_does_not_push_the_rest_off_the_screen(outbox: Outbox) -> None:
    for number in range(MOST_WORKERS + 3):
        outbox.database.run(heartbeats.beat(f"w{number}", host="h", version="1", in_flight=0, rate=0.0))

    assert "and 3 more" in drawn(look(outbox))


def test_rates_are_the_difference_between_two_looks(outbox: Outbox, clock: Clock) -> None:
    before = look(outbox)
    bring_to(outbox, Status.SENT)
    bring_to(outbox, Status.SENT)
    clock.advance(seconds=4)
    now = look(outbox)

    assert Look(now=now, before=before).per_second("sent") == 0.5
    assert Look(now=now).per_second("sent") is None
    assert Look(now=now, before=now).per_second("sent") is None


def test_a_line_says_what_matters(outbox: Outbox, clock: Clock) -> None:
    bring_to(outbox, Status.DEAD)
    bring_to(outbox, Status.PENDING)
    clock.advance(seconds=7)
    now = look(outbox)
    before = replace(now, at=now.at - timedelta(seconds=1), totals=dict.fromkeys(now.totals, 0))

    said = line(Look(now=now, before=before))

    assert "pending 1  dead 1  oldest due 7s  workers 0  sent/s 0.0" in said


def test_on_a_terminal_it_is_drawn_until_q_is_pressed(migrated_sqlite_url: str) -> None:
    with Outbox(migrated_sqlite_url) as outbox:
        bring_to(outbox, Status.CANCELLED)
    with at_a_terminal(migrated_sqlite_url) as (process, screen):
        seen = read_until(screen, b"q ends")
        os.write(screen, b"x")
        read_until(screen, b"q ends")
        os.write(screen, b"q")
        left = read_until(screen, b"\x1b[?1049l")
        code = process.wait(60)

    assert code == 0
    assert b"\x1b[?1049h" in seen
    assert b"cancelled" in seen
    assert b"Traceback" not in left


def test_on_a_terminal_ctrl_c_ends_it_and_gives_the_screen_back(migrated_sqlite_url: str) -> None:
    with at_a_terminal(migrated_sqlite_url) as (process, screen):
        read_until(screen, b"q ends")
        process.send_signal(signal.SIGINT)
        left = read_until(screen, b"\x1b[?1049l")
        code = process.wait(60)

    assert code == 0
    assert b"Traceback" not in left


@pytest.mark.parametrize("json_wanted", [True, False])
def test_into_a_pipe_it_writes_a_line_at_a_time(json_wanted: bool, migrated_sqlite_url: str) -> None:
    options = ["--interval", "0.1s", *(["--json"] if json_wanted else [])]
    process = subprocess.Popen(command(migrated_sqlite_url, *options), stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with Outbox(migrated_sqlite_url) as outbox:
        first = process.stdout.readline()
        bring_to(outbox, Status.SENT)
        following = next(each for each in process.stdout if tells_one_sent(each, json_wanted))
    process.send_signal(signal.SIGINT)
    process.stdout.read()
    process.stdout.close()

    assert process.wait(60) == 0
    assert first.strip()
    if json_wanted:
        found: dict[str, Any] = json.loads(following)
        assert set(found) == {
            "at", "sentence", "tone", "counts", "totals", "due", "oldest_due", "workers", "transports", "broker",
        }  # fmt: skip
        assert found["totals"]["enqueued"] == 1
        assert found["workers"] == {"alive": 0, "silent": 0}


def tells_one_sent(said: str, json_wanted: bool) -> bool:
    return json.loads(said)["counts"]["sent"] == 1 if json_wanted else "sent 1 " in said


def test_looking_too_often_is_refused() -> None:
    assert interval_in_seconds("2s") == 2
    with pytest.raises(ConfigurationError, match="at least"):
        interval_in_seconds("1ms")


def test_watching_and_checking_every_row_exclude_each_other(migrated_sqlite_url: str) -> None:
    answer = CliRunner().invoke(app, ["stats", "--watch", "--check", "--database", migrated_sqlite_url])

    assert answer.exit_code == 2
    assert "exclude each other" in answer.stderr

"""`postroom worker --until-idle`: its exit code tells a scheduled job whether emails are due that it could not send."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from postroom import Email, Outbox
from postroom.operate import Operations
from postroom.testing import ScriptedSmtp
from postroom.work.supervise import posts, supervise

EMAIL = Email(to="ada@example.org", subject="Hi", text="Hello")


@pytest.fixture
def outbox(store_url: str) -> Iterator[Outbox]:
    with Outbox(store_url, routes={"backup": "smtp://127.0.0.1:9"}) as outbox:
        yield outbox


def work(outbox: Outbox, server: ScriptedSmtp, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "POSTROOM_DATABASE": outbox.database_url,
        "POSTROOM_SMTP": server.url,
        "POSTROOM_JOURNAL": str(folder / "journals"),
    }
    command = [sys.executable, "-m", "postroom.cli", "worker", "--until-idle", *options]
    return subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("processes", ["1", "2"])
def test_emails_that_are_due_behind_a_pause_are_told_by_the_exit_code(
    outbox: Outbox, tmp_path: Path, processes: str
) -> None:
    outbox.enqueue(EMAIL)
    Operations(outbox).pause_route("default", "moving house", "grace")
    with ScriptedSmtp() as server:
        ended = work(outbox, server, tmp_path, "--processes", processes)

    assert ended.returncode == 4, ended.stderr
    assert server.messages == []
    told = [json.loads(line) for line in ended.stderr.splitlines() if "stopping although" in line]
    assert {(line["route"], line["reason"]) for line in told} == {("default", "moving house (grace)")}
    assert len(told) == int(processes)


def test_emails_of_a_route_that_is_not_known_here_are_told_of_unless_others_were_to_be_left_alone(
    outbox: Outbox, tmp_path: Path
) -> None:
    outbox.enqueue(EMAIL, route="backup")
    with ScriptedSmtp() as server:
        everything = work(outbox, server, tmp_path)
        only = work(outbox, server, tmp_path, "--route", "default")

    assert (everything.returncode, only.returncode) == (4, 0)
    assert "no route of this name is known here" in everything.stderr


def test_what_is_sent_or_due_later_is_no_reason(outbox: Outbox, tmp_path: Path) -> None:
    outbox.enqueue(EMAIL)
    outbox.enqueue(EMAIL, not_before=datetime.now(UTC) + timedelta(hours=1))
    with ScriptedSmtp() as server:
        ended = work(outbox, server, tmp_path)

    assert ended.returncode == 0, ended.stderr
    assert len(server.messages) == 1


def test_a_process_that_ends_as_one_that_is_done_may_is_not_started_again() -> None:
    command = [sys.executable, "-c", "import sys; sys.exit(4)"]

    assert supervise(posts(2, command), finished=(0, 4)) == 4

"""`postroom inbox`, from outside."""

from __future__ import annotations

import os
import re
import signal
import smtplib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from postroom.cli.app import app
from postroom.inbox import DevInbox
from postroom.inbox.shelf import Shelf, Wanted


@pytest.fixture
def running(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """The command in a folder of its own, on free ports."""
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith(("POSTROOM_", "SMTP_"))}
    process = subprocess.Popen(
        [sys.executable, "-m", "postroom.cli", "inbox", "--smtp-port", "0", "--port", "0"],
        cwd=tmp_path,
        env=surroundings | {"POSTROOM_DATABASE": "sqlite:///outbox.db"},
        stdout=subprocess.PIPE,
        text=True,
    )
    yield process
    process.kill()
    process.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_says_where_it_is_keeps_mail_in_a_file_and_ends_when_told(
    running: subprocess.Popen[str], tmp_path: Path, number: signal.Signals
) -> None:
    """C7: development shows every mail in a local inbox without a container."""
    assert running.stdout is not None
    said = [running.stdout.readline() for _ in range(3)]
    smtp_port = int(re.findall(r"smtp://127\.0\.0\.1:(\d+)", said[0])[0])
    page = re.findall(r"http://127\.0\.0\.1:\d+/", said[1])[0]
    with smtplib.SMTP("127.0.0.1", smtp_port, timeout=30) as client:
        client.sendmail("a@example.org", ["b@example.org"], b"Subject: Kept\r\n\r\nHello\r\n")
    shown = httpx.get(page, trust_env=False).text
    running.send_signal(number)

    assert running.wait(timeout=30) == 0
    assert "Kept" in shown
    assert said[2].split() == ["Set", f"POSTROOM_SMTP=smtp://127.0.0.1:{smtp_port}"]
    assert not (tmp_path / "outbox.db").exists()  # the outbox's own database is not meant
    shelf = Shelf(tmp_path / "postroom-inbox.db")
    assert [message.subject for message in shelf.list(Wanted())] == ["Kept"]
    shelf.close()


def test_a_port_in_use_ends_the_command_with_one_line(inbox: DevInbox, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["inbox", "--port", str(inbox.port), "--file", str(tmp_path / "inbox.db")])

    assert result.exit_code == 2
    assert re.search(rf"cannot listen on port {inbox.port}: .*choose another with --port", result.stderr)


def test_a_database_that_is_no_file_is_refused() -> None:
    result = CliRunner().invoke(app, ["inbox", "--database", "postgresql://localhost/app"])

    assert result.exit_code == 2
    assert "the inbox keeps mail on SQLite only" in result.stderr

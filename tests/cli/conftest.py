"""A command line of the test's own: its own folder, settings and outbox."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from postroom import DeadReason, Email, Outbox, Status
from postroom.cli.app import app
from postroom.store.claims import claim, settle
from postroom.store.contract import Settlement


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a command said, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output, which is one JSON value and nothing else."""
        return json.loads(self.out)


class CommandLine:
    """Calls commands in this process, on one database."""

    def __init__(self, database: str) -> None:
        self.database = database

    def __call__(self, *arguments: str, input: str | bytes | None = None) -> Answer:
        result = CliRunner().invoke(app, list(arguments), input=input, env={"POSTROOM_DATABASE": self.database})
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Answer(code=result.exit_code, out=result.stdout, err=result.stderr)


@pytest.fixture(autouse=True)
def own_surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No setting comes from outside, and nothing that a command sets up outlives the test."""
    for name in list(os.environ):
        if name.startswith(("POSTROOM_", "SMTP_", "EMAIL_WORKER_")) and not name.startswith("POSTROOM_TEST_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:], root.level = handlers, level


@pytest.fixture
def postroom(sqlite_url: str) -> CommandLine:
    """The command line, on an outbox that nobody has created yet."""
    return CommandLine(sqlite_url)


@pytest.fixture
def outbox(sqlite_url: str) -> Iterator[Outbox]:
    """The same outbox, created."""
    with Outbox(sqlite_url, sender="desk@example.org") as outbox:
        outbox.migrate()
        yield outbox


def enqueue(outbox: Outbox, *, subject: str = "Hi", to: str = "ada@example.org", **wishes: Any) -> str:
    """One plain email; its id."""
    return outbox.enqueue(Email(to=to, subject=subject, text="Hello"), **wishes).id


def enqueue_dead(outbox: Outbox, *, code: int = 550, **email: Any) -> str:
    """One email that was given up; its id."""
    return _finish(outbox, Status.DEAD, enqueue(outbox, **email), code)


def enqueue_sent(outbox: Outbox, **email: Any) -> str:
    """One email that was sent; its id."""
    return _finish(outbox, Status.SENT, enqueue(outbox, **email), 250)


def _finish(outbox: Outbox, status: Status, id: str, code: int) -> str:
    """Claim and settle as a worker would. Nothing else may be due."""
    [claimed] = outbox.database.run(claim(worker="test", lease=timedelta(seconds=30), urgent=10, normal=10, bulk=10))
    assert claimed.id == id
    settlement = Settlement(
        claim=claimed.claim,
        status=status,
        attempts=1,
        dead_reason=DeadReason.PERMANENT if status is Status.DEAD else None,
        last_error=f"{code} 5.1.1 no such user" if status is Status.DEAD else None,
        reply_code=code,
        event="failed" if status is Status.DEAD else None,
    )
    assert outbox.database.run(settle([settlement])) == {id}
    return id

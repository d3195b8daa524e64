"""`postroom worker --all-regions`: a process for each region, none of which minds what becomes of another (C1, C6)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from postroom import Email, Outbox
from postroom.testing import ScriptedSmtp
from tests.work.office import wait_until

WORKER = [sys.executable, "-m", "postroom.cli", "worker", "--all-regions", "--log-format", "json"]


@contextmanager
def working(folder: Path, server: ScriptedSmtp, log: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("POSTROOM_", "SMTP_"))}
    environment |= {"POSTROOM_SMTP": server.url, "XDG_STATE_HOME": str(folder / "state")}
    with (
        log.open("wb") as told,
        subprocess.Popen([*WORKER, *arguments], cwd=folder, env=environment, stderr=told) as process,
    ):
        try:
            yield process
        finally:
            process.terminate()
            process.wait(60)


def lines(log: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{") and line.endswith("}")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three regions, one of which has a file that is no database, and one that is switched off."""
    tables = [f'[regions.{name}]\ndatabase = "sqlite:///{name}.db"\n' for name in ("deu1", "usa1", "sgp1", "off1")]
    (tmp_path / "postroom.toml").write_text(
        'sender = "desk@example.org"\n' + "".join(tables) + "worker_enabled = false\n"
    )
    for name in ("deu1", "usa1", "off1"):
        with Outbox(f"sqlite:///{tmp_path / name}.db") as outbox:
            outbox.migrate()
    (tmp_path / "sgp1.db").write_bytes(b"This is no database. " * 1_000)
    return tmp_path


def test_each_region_is_worked_for_whatever_becomes_of_the_others(folder: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with (
        ScriptedSmtp() as server,
        Outbox(f"sqlite:///{folder}/deu1.db") as deu1,
        Outbox(f"sqlite:///{folder}/usa1.db") as usa1,
        Outbox(f"sqlite:///{folder}/off1.db") as off1,
        working(folder, server, log) as process,
    ):
        for outbox in (deu1, usa1, off1):
            outbox.enqueue(Email(to="ada@example.org", subject=outbox.database_url, text="Hello"))
        wait_until(lambda: deu1.counts()["sent"] == usa1.counts()["sent"] == 1)
        wait_until(lambda: any(line.get("region") == "sgp1" for line in lines(log)))
        child = next(
            each for each in psutil.Process(process.pid).children() if each.cmdline()[-2:] == ["--region", "deu1"]
        )
        child.send_signal(signal.SIGKILL)
        usa1.enqueue(Email(to="ada@example.org", subject="Meanwhile", text="Hello"))
        wait_until(lambda: usa1.counts()["sent"] == 2)
        deu1.enqueue(Email(to="ada@example.org", subject="Afterwards", text="Hello"))
        wait_until(lambda: deu1.counts()["sent"] == 2)
        process.send_signal(signal.SIGTERM)
        code = process.wait(60)

        assert (code, off1.counts()["pending"], len(server.messages)) == (0, 1, 4)
    told = lines(log)
    ended = [line["region"] for line in told if line["event"] == "worker process ended"]
    assert {"sgp1", "deu1"} == {*ended}
    assert {line.get("region") for line in told if line["event"] == "worker started"} == {"deu1", "usa1"}
    assert "off1 is left out" in log.read_text()
    assert "ada@example.org" not in log.read_text()

"""An application in a process of its own, to be killed; and a worker beside it, perhaps of another user or host."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from postroom import Outbox
from postroom.testing import ScriptedSmtp

PATIENCE = 60.0
"""Seconds to wait for an event that must come. Never what a test is about."""


def run_application(store_url: str, server: ScriptedSmtp, body: str) -> None:
    """An application that does its work and ends."""
    subprocess.run(_program(store_url, server, body), check=True, timeout=PATIENCE)


def start_application(store_url: str, server: ScriptedSmtp, body: str) -> subprocess.Popen[bytes]:
    """An application that somebody will kill."""
    return subprocess.Popen(_program(store_url, server, body))


def kill(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()


def run_worker(store_url: str, server: ScriptedSmtp, **environment: str) -> None:
    """A worker until nothing is under way or due; by default it shares the application's journals."""
    settings = os.environ | {"POSTROOM_DATABASE": store_url, "POSTROOM_SMTP": server.url} | environment
    command = [sys.executable, "-m", "postroom.cli", "worker", "--until-idle"]
    with Outbox(store_url) as outbox:
        deadline = time.monotonic() + PATIENCE
        while outbox.counts()["sending"] or outbox.counts()["pending"]:
            assert time.monotonic() < deadline
            subprocess.run(command, check=True, timeout=PATIENCE, env=settings)


def wait_until(condition: Callable[[], bool], seconds: float = PATIENCE) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "what was waited for did not happen"
        time.sleep(0.02)


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def _program(store_url: str, server: ScriptedSmtp, body: str) -> list[str]:
    code = (
        "from postroom import Email, Outbox\n"
        f"outbox = Outbox({store_url!r}, smtp={server.url!r})\n"
        "letter = Email(to='ada@example.org', subject='Booked', text='See you.')\n" + body
    )
    return [sys.executable, "-c", code]

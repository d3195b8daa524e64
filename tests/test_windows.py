"""What an application does works without what only POSIX has, as on Windows; what sends says that it needs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HIDDEN = """
import asyncio, os, signal, sys  # before they are hidden from: the standard library's own use is its affair

for name in ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog"):
    sys.modules[name] = None  # neither found nor imported
for module, names in {
    os: "fork forkpty register_at_fork getuid geteuid getgid getegid fchmod fchown chown getpgid killpg setsid uname",
    signal: "SIGKILL SIGHUP SIGQUIT SIGUSR1 SIGUSR2 SIGALRM SIGPIPE pthread_sigmask sigwait",
}.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
"""

ENQUEUES = """
from postroom import AsyncOutbox, Email, Outbox
email = Email(to="ada@example.org", subject="Hi", text="Hello")
with Outbox(URL, smtp="smtp://localhost:1") as outbox:
    outbox.migrate()
    receipt = outbox.enqueue(email, key="k")
    assert outbox.get(receipt.id).status == "pending"
    assert outbox.send(email).queued
    with outbox.transaction() as connection:
        outbox.enqueue(email, connection=connection)
async def enqueue():
    async with AsyncOutbox(URL) as outbox:
        await outbox.enqueue(email)
        print((await outbox.counts())["pending"])
asyncio.run(enqueue())
"""

WORKS = """
from postroom.cli import main
sys.argv = ["postroom", "worker", "--until-idle", "--database", URL, "--smtp", "smtp://localhost:1"]
main()
"""

LOOKS = """
from postroom.cli import main
sys.argv = ["postroom", "stats", "--database", URL]
main()
"""


def run(program: str, url: str) -> subprocess.CompletedProcess[str]:
    text = f"URL = {url!r}\n{HIDDEN}\n{program}"
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'app.db'}"


def test_an_application_imports_enqueues_and_looks(url: str) -> None:
    """Also one that would send inline: what it cannot send itself is left to a worker elsewhere."""
    told = run(ENQUEUES, url)

    assert (told.stdout, told.stderr) == ("4\n", "")


def test_a_worker_says_that_it_needs_posix_and_where_to_run_it(url: str) -> None:
    run(ENQUEUES, url)
    told = run(WORKS, url)

    assert told.returncode == 2
    assert "a worker needs POSIX" in told.stderr
    assert "WSL" in told.stderr
    assert "Traceback" not in told.stderr


def test_the_command_line_looks_at_an_outbox(url: str) -> None:
    run(ENQUEUES, url)
    told = run(LOOKS, url)

    assert told.returncode == 0, told.stderr
    assert "pending" in told.stdout

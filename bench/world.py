"""What every measurement stands on: how much of everything, a durable PostgreSQL, a folder, what is to be undone."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg

from tests.servers.postgres import PostgresServer, server

COMPLAINTS = "complaints.log"
ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How much of everything."""

    rounds: int
    seconds: float
    """How long a time-boxed run takes."""
    emails: int
    """In a drain of the fast; slower contestants get a share of it, so that all take about as long."""
    latencies: int
    backlog: int
    urgent: int
    """Urgent emails sent past the backlog, before it is gone."""
    history: int
    launched: int
    """Mails of the campaign that is launched."""


FULL = Scale(
    rounds=3,
    seconds=4.0,
    emails=20_000,
    latencies=150,
    backlog=100_000,
    urgent=40,
    history=2_000_000,
    launched=1_000_002,
)
QUICK = Scale(
    rounds=1, seconds=0.5, emails=1_000, latencies=15, backlog=5_000, urgent=5, history=20_000, launched=15_000
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A process to start."""

    arguments: list[str]
    environment: dict[str, str] = field(default_factory=dict)


class World:
    """Made on demand: who measures MIME needs no database."""

    def __init__(self, scale: Scale, *, against: str | None = None) -> None:
        self.scale = scale
        self.against = against
        """Another revision of this code, to be measured beside it."""
        self.stack = ExitStack()
        """What later closes whatever was opened for the whole run."""

    def __enter__(self) -> World:
        return self

    def __exit__(self, *details: object) -> None:
        self.stack.close()

    @cached_property
    def folder(self) -> Path:
        return Path(self.stack.enter_context(TemporaryDirectory(prefix="postroom-bench-", ignore_cleanup_errors=True)))

    @cached_property
    def postgres(self) -> PostgresServer:
        running = self.stack.enter_context(server(durable=True))
        space_checkpoints(running.url)
        return running


def space_checkpoints(url: str) -> None:
    """Let none fall into whichever run happens to be under way. fsync and synchronous_commit stay on."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET max_wal_size = '8GB'")
        connection.execute("ALTER SYSTEM SET checkpoint_timeout = '30min'")
        connection.execute("SELECT pg_reload_conf()")


def settle_down(url: str) -> None:
    """Leave nothing of the filling for the measured run to do."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
        connection.execute("CHECKPOINT")


def scalar(url: str, query: str) -> int:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(query).fetchone()
    assert row is not None
    return int(row[0])


def execute(url: str, statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statements)


def python(module: str, *arguments: object, **environment: str) -> Command:
    """A module of ours in a process of its own."""
    return Command(arguments=[sys.executable, "-m", module, *map(str, arguments)], environment=environment)


def start(command: Command, *, folder: Path, output: int | None = None) -> subprocess.Popen[str]:
    """Start a process. Its complaints go to a file in the folder, to be shown when it fails."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore", **command.environment}
    environment.pop("POSTROOM_CONFIG", None)
    with (folder / COMPLAINTS).open("ab") as log:
        return subprocess.Popen(
            command.arguments,
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE if output else subprocess.DEVNULL,
            stdout=output or log,
            stderr=log,
            text=True,
        )


def complaints(folder: Path) -> str:
    """The last that was said by processes in a folder."""
    return (folder / COMPLAINTS).read_text(errors="replace")[-3000:]


def finish(command: Command, *, folder: Path) -> str:
    """Run a process to its end; what it printed."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore", **command.environment}
    ended = subprocess.run(command.arguments, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise RuntimeError(
            f"{' '.join(command.arguments[:4])} … ended with {ended.returncode}:\n{ended.stderr[-3000:]}"
        )
    return ended.stdout


def stop(process: subprocess.Popen[str]) -> None:
    """Ask a process to end, and see to it that it does."""
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


@contextmanager
def running(commands: list[Command], *, folder: Path) -> Iterator[list[subprocess.Popen[str]]]:
    processes = [start(command, folder=folder) for command in commands]
    try:
        yield processes
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            stop(process)

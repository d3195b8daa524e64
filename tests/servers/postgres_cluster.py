"""One PostgreSQL data directory and the processes that serve it, for whoever may start, stop and crash them."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

OLDEST = 14
"""The oldest major version that Postroom supports."""

REMEDY = (
    f"no PostgreSQL server programs (initdb, pg_ctl) of version {OLDEST} or newer were found: "
    "run `make test`, which installs them, or `apt-get install postgresql`, "
    "or name a running server in POSTROOM_TEST_POSTGRES"
)

USER = "postroom"

SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "max_connections": "200",
    # Far from UTC and off the hour, so that a time which silently took the session's zone is seen at once.
    "timezone": "Asia/Kathmandu",
    "log_min_messages": "warning",
}
FORGETFUL = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "autovacuum": "off"}
"""Quick; only a crash of the machine could tell the difference. Nobody tidies up behind a test that counts pages."""


@dataclass(slots=True, kw_only=True)
class PostgresCluster:
    """A data directory with its server. `start` and `stop` may be repeated: the port stays the same."""

    programs: Path
    directory: Path
    port: int

    @classmethod
    @contextmanager
    def create(cls, *, durable: bool = False) -> Iterator[PostgresCluster]:
        """A started server in a new temporary directory; both are gone afterwards."""
        programs = find_programs(program_directories())
        with tempfile.TemporaryDirectory(prefix="postroom-postgres-") as directory:
            cluster = cls(programs=programs, directory=Path(directory), port=free_port())
            cluster._initialise(durable=durable)
            try:
                cluster.start()
                yield cluster
            finally:
                cluster.stop(mode="immediate")

    @property
    def url(self) -> str:
        return f"postgresql://{USER}@127.0.0.1:{self.port}/postgres"

    @property
    def log(self) -> Path:
        return self.directory / "log"

    def start(self) -> None:
        """Start the server and wait until it answers. A port taken meanwhile by somebody else is changed once."""
        try:
            self._start()
        except RuntimeError:
            if "Address already in use" not in self.log.read_text():
                raise
            self.port = free_port()
            self._start()

    def stop(self, *, mode: str = "fast") -> None:
        """Stop the server if it runs: `fast` in good order, `immediate` as if it had crashed."""
        if (self.directory / "data" / "postmaster.pid").exists():
            self._run("pg_ctl", "stop", "-w", "-m", mode, "-D", self.directory / "data")

    def kill(self) -> None:
        """SIGKILL to every process of the server, as when its machine is gone. `start` recovers it."""
        note = self.directory / "data" / "postmaster.pid"
        postmaster = psutil.Process(int(note.read_text().splitlines()[0]))
        processes = [postmaster, *postmaster.children(recursive=True)]
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(processes)
        note.unlink(missing_ok=True)

    def _initialise(self, *, durable: bool) -> None:
        if os.geteuid() == 0:
            os.chown(self.directory, *owner())
        # Not --no-locale: under collation C an index serves LIKE, which hides what most installations do not have.
        self._run(
            "initdb", "-D", self.directory / "data", "-U", USER, "--auth=trust", "--no-sync", "-E", "UTF8",
            "--locale=C.UTF-8",
        )  # fmt: skip
        settings = SETTINGS | {"unix_socket_directories": str(self.directory)} | ({} if durable else FORGETFUL)
        with (self.directory / "data" / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in settings.items())

    def _start(self) -> None:
        self._run(
            "pg_ctl", "start", "-w", "-t", "60", "-D", self.directory / "data", "-l", self.log, "-o", f"-p {self.port}"
        )

    def _run(self, program: str, *arguments: str | Path) -> None:
        """Run one of PostgreSQL's programs, as somebody else when we are root, which PostgreSQL refuses to be."""
        user, group = owner() if os.geteuid() == 0 else (None, None)
        with tempfile.TemporaryFile("w+") as output:
            # A file, not a pipe: the server inherits it from pg_ctl, and a pipe would stay open as long as it runs.
            finished = subprocess.run(
                [self.programs / program, *arguments],
                cwd=self.directory, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                user=user, group=group, extra_groups=[] if user else None, start_new_session=True, check=False,
            )  # fmt: skip
            if finished.returncode:
                output.seek(0)
                log = self.log.read_text() if self.log.exists() else ""
                raise RuntimeError(f"{program} ended with {finished.returncode}:\n{output.read()}{log}")


def find_programs(directories: Iterable[Path]) -> Path:
    """The directory with the newest usable server programs, or an error that says how to get them."""
    found = [(version, directory) for directory in directories if (version := server_version(directory)) >= OLDEST]
    if not found:
        raise RuntimeError(REMEDY)
    return max(found)[1]


def program_directories() -> Iterator[Path]:
    """Where PostgreSQL's server programs may be."""
    yield from Path("/usr/lib/postgresql").glob("*/bin")
    if pg_config := shutil.which("pg_config"):
        yield Path(subprocess.run([pg_config, "--bindir"], capture_output=True, text=True, check=True).stdout.strip())
    if initdb := shutil.which("initdb"):
        yield Path(initdb).resolve().parent


def server_version(directory: Path) -> int:
    """The major version of the server programs in a directory; 0 when there are none that can be used."""
    if not all(os.access(directory / name, os.X_OK) for name in ("initdb", "pg_ctl", "postgres")):
        return 0
    told = subprocess.run([directory / "postgres", "--version"], capture_output=True, text=True, check=False).stdout
    version = re.search(r"\d+", told)
    return int(version.group()) if version else 0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def owner() -> tuple[int, int]:
    """The user and group who run the server on behalf of root."""
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return entry.pw_uid, entry.pw_gid
    raise RuntimeError("PostgreSQL does not run as root: create a user `postgres`, or run the tests as another user")

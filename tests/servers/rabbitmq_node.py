"""One RabbitMQ node with data of its own, for whoever may start, stop, crash and empty it.

Everything it needs is its own: home, cookie, data, log, and the port mapper through which Erlang nodes find each other.
It listens on loopback only. A guardian, a shell that reads a pipe from the owner, ends the node when the pipe does, and
a pipe ends with its owner, however that came about: nothing is left behind.
"""

from __future__ import annotations

import asyncio
import os
import pwd
import random
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiormq

REMEDY = (
    "RabbitMQ's server program (rabbitmq-server) was not found: "
    "run `make test`, which installs it, or `apt-get install rabbitmq-server`, "
    "or name a running broker in POSTROOM_TEST_RABBITMQ"
)

USER = "rabbitmq"
"""Who runs the node on behalf of root, where there is such a user."""

NAME = "postroom@localhost"
PATIENCE = 60.0

CONFIGURATION = """
listeners.tcp.1 = 127.0.0.1:{port}
default_user = postroom
default_pass = {password}
# A disk that is nearly full should not make tests wait.
disk_free_limit.absolute = 10MB
log.file = false
log.console = true
log.console.level = warning
"""

# The last line read names the processes that run at present.
GUARDIAN = """
while read -r line; do running=$line; done
test -z "$running" || kill -KILL $running
for _ in 1 2 3 4 5; do rm -rf -- "$0" && break; sleep 1; done
"""


@dataclass(slots=True, kw_only=True)
class RabbitNode:
    """A data directory with its broker. The URL stays the same, whatever happens to the node.

    Everything here waits until it is so; a coroutine calls through `asyncio.to_thread`.
    """

    program: Path
    directory: Path
    guardian: subprocess.Popen[str]
    password: str = field(default_factory=lambda: secrets.token_hex(8))
    port: int = field(default_factory=lambda: steady_port())
    distribution_port: int = field(default_factory=lambda: steady_port())
    mapper_port: int = field(default_factory=lambda: steady_port())
    _mapper: subprocess.Popen[bytes] | None = None
    _broker: subprocess.Popen[bytes] | None = None

    @classmethod
    @contextmanager
    def create(cls) -> Iterator[RabbitNode]:
        """A started node in a new temporary directory; both are gone afterwards, also if we are killed."""
        program = find_program()
        directory = Path(tempfile.mkdtemp(prefix="postroom-rabbitmq-"))
        with subprocess.Popen(
            ["sh", "-c", GUARDIAN, directory], stdin=subprocess.PIPE, text=True, cwd="/", start_new_session=True
        ) as guardian:
            node = cls(program=program, directory=directory, guardian=guardian)
            try:
                node._furnish()
                node._map()
                node.start()
                yield node
            finally:
                node._end(node._broker)
                node._end(node._mapper)
                guardian.communicate()

    @property
    def url(self) -> str:
        return f"amqp://postroom:{self.password}@127.0.0.1:{self.port}/"

    @property
    def log(self) -> Path:
        return self.directory / "log"

    @property
    def pid(self) -> int | None:
        """The broker's process, while there is one."""
        return self._broker.pid if self._broker and self._broker.poll() is None else None

    def start(self) -> None:
        """Start the broker with the data it left, unless it runs, and wait until clients are served."""
        if self.pid is None:
            # Input is allowed and at once declined: so the script makes way for the broker, whose process we then have.
            self._broker = self._launch(self.program, "-noinput", RABBITMQ_ALLOW_INPUT="1")
            self._wait_until_it_serves()

    def stop(self) -> None:
        """Stop the broker in good order, if it runs."""
        if self._broker and self.pid is not None:
            self._broker.terminate()
            self._broker.wait(PATIENCE)
            self._tell_guardian()

    def kill(self, *, settled: bool = True) -> None:
        """Crash the broker, if it runs.

        RabbitMQ 3.10 keeps the list of its quorum queues in memory for some three seconds before it writes it: queues
        that were declared just before a crash never find a leader again. Unless that is what a test is about, the list
        is written first. Messages are not concerned: what was confirmed is on the disk.
        """
        if self.pid is not None:
            if settled:
                self._write_tables()
            self._end(self._broker)

    @contextmanager
    def short_of_memory(self) -> Iterator[None]:
        """Take no messages from those who publish, as a broker does whose memory is full."""
        limit = "vm_memory_monitor:set_vm_memory_high_watermark({})"
        self._evaluate(limit.format("0.0"))
        try:
            yield
        finally:
            self._evaluate(limit.format("0.4"))

    def wipe(self) -> None:
        """Lose everything, and start again with nothing."""
        self._end(self._broker)
        shutil.rmtree(self.directory / "data")
        self.start()

    def _furnish(self) -> None:
        written = {
            ".erlang.cookie": secrets.token_hex(16),
            "rabbitmq.conf": CONFIGURATION.format(port=self.port, password=self.password),
            "advanced.config": "[].",
            "enabled_plugins": "[].",
        }
        for name, text in written.items():
            (self.directory / name).write_text(text)
            (self.directory / name).chmod(0o400)
        if _user():
            for path in (self.directory, *self.directory.iterdir()):
                shutil.chown(path, USER, USER)

    def _map(self) -> None:
        """Start the port mapper. RabbitMQ would start one too, but as a daemon that nobody ends."""
        self._mapper = self._launch("epmd", "-address", "127.0.0.1", "-port", str(self.mapper_port))

    def _launch(self, *command: str | Path, **environment: str) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **self._circumstances(environment)
            )
        self._tell_guardian(process)
        return process

    def _circumstances(self, more: dict[str, str]) -> dict[str, Any]:
        """How the node's processes run. Nothing of our own environment or the machine's configuration reaches them."""
        files = {
            "RABBITMQ_CONFIG_FILE": "rabbitmq.conf",
            "RABBITMQ_CONFIG_FILES": "more/*.conf",
            "RABBITMQ_ADVANCED_CONFIG_FILE": "advanced.config",
            "RABBITMQ_CONF_ENV_FILE": "rabbitmq-env.conf",
            "RABBITMQ_ENABLED_PLUGINS_FILE": "enabled_plugins",
            "RABBITMQ_MNESIA_BASE": "data",
            "RABBITMQ_LOG_BASE": "logs",
        }
        environment = {name: str(self.directory / file) for name, file in files.items()} | {
            "HOME": str(self.directory),
            "LANG": "C.UTF-8",
            "PATH": os.environ["PATH"],
            "RABBITMQ_NODENAME": NAME,
            "RABBITMQ_DIST_PORT": str(self.distribution_port),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_EPMD_PORT": str(self.mapper_port),
        }
        user = {"user": USER, "group": USER, "extra_groups": []} if _user() else {}
        return {"env": environment | more, "cwd": self.directory, "start_new_session": True, **user}

    def _wait_until_it_serves(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while not self._serves():
            if self.pid is None or time.monotonic() > deadline:
                raise RuntimeError(f"RabbitMQ did not start:\n{self.log.read_text(errors='replace')[-5000:]}")
            time.sleep(0.02)

    def _serves(self) -> bool:
        """Whether a client can connect, with all that belongs to it."""
        try:
            # Asked first, since it is so much cheaper.
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            asyncio.run(_greet(self.url))
        except (OSError, aiormq.exceptions.AMQPError):
            return False
        return True

    def _write_tables(self) -> None:
        """Have Erlang write what its disk tables still hold in memory."""
        self._evaluate("[dets:sync(Table) || Table <- dets:all()]")

    def _evaluate(self, expression: str) -> None:
        """In the broker itself."""
        answer = subprocess.run(
            ["erl_call", "-n", NAME, "-e"],
            input=f"{expression}.\n".encode(), capture_output=True, check=False, **self._circumstances({}),
        )  # fmt: skip
        if not answer.stdout.startswith(b"{ok,"):
            raise RuntimeError(f"RabbitMQ did not do {expression}: {answer.stdout!r} {answer.stderr!r}")

    def _end(self, process: subprocess.Popen[bytes] | None) -> None:
        if process is not None:
            process.kill()
            process.wait()
            self._tell_guardian()

    def _tell_guardian(self, *new: subprocess.Popen[bytes]) -> None:
        running = [each.pid for each in (self._mapper, self._broker, *new) if each and each.poll() is None]
        assert self.guardian.stdin is not None
        print(*running, file=self.guardian.stdin, flush=True)


def find_program(places: tuple[Path, ...] = (Path("/usr/lib/rabbitmq/bin"),)) -> Path:
    """RabbitMQ's server program, or an error that says how to get it.

    Debian's is not the one on the PATH: that is a wrapper which changes user and directory.
    """
    for place in places:
        if (program := shutil.which("rabbitmq-server", path=place)) is not None:
            return Path(program)
    program = shutil.which("rabbitmq-server")
    if program is None or Path(program).resolve().name == "rabbitmq-script-wrapper":
        raise RuntimeError(REMEDY)
    return Path(program)


def steady_port() -> int:
    """A free port that stays free while nobody listens on it.

    It lies below those that the system gives to clients. One of theirs could be taken while the node is down, even by
    a client of the node itself: connecting to its own port from that very port, it would be greeted by itself.
    """
    while True:
        port = random.randrange(12_000, 32_000)
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return port


async def _greet(url: str) -> None:
    connection = await aiormq.connect(url)
    await connection.close()


def _user() -> str | None:
    """Who runs the node, where it is not ourselves."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam(USER).pw_name
    except KeyError:
        return None

"""Where the emails go: Postfix's smtp-sink, which is quick and counts, and a sink of ours that notes times."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

from bench.readings import Absent
from bench.world import python, start, stop

PATIENCE = 60.0


class Sink:
    """smtp-sink, which writes its counters after every message it has accepted."""

    def __init__(self) -> None:
        program = shutil.which("smtp-sink") or shutil.which("smtp-sink", path="/usr/sbin")
        if program is None:
            raise Absent("Postfix's smtp-sink is missing; `make bench` installs it")
        self.port = free_port()
        # In memory where possible: the log is the sink's only disk traffic, and is read many times a second.
        memory = Path("/dev/shm")
        descriptor, name = tempfile.mkstemp(prefix="postroom-sink-", dir=memory if memory.is_dir() else None)
        self._log = Path(name)
        user = ["-u", "nobody"] if os.geteuid() == 0 else []
        self._process = subprocess.Popen(
            [program, *user, "-4", "-a", "-c", f"127.0.0.1:{self.port}", "1000"], stdout=descriptor
        )
        os.close(descriptor)
        wait_for_port(self.port)

    def __enter__(self) -> Sink:
        return self

    def __exit__(self, *details: object) -> None:
        self._process.terminate()
        self._process.wait()
        self._log.unlink()

    @property
    def accepted(self) -> int:
        """How many messages were accepted so far."""
        with self._log.open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - 200))
            tail = log.read().replace(b"\n", b"\r").split(b"\r")
        for line in reversed(tail[:-1]):  # the last one may be half written
            if b"mesg=" in line:
                with suppress(ValueError):
                    return int(line.rpartition(b"mesg=")[2])
        return 0


class StampingSink:
    """A sink in a process of its own that tells when it had read each email addressed to `stampN@…` completely.

    Times are of the monotonic clock, which all processes of a machine share.
    """

    def __init__(self, folder: Path) -> None:
        self._process = start(python("bench.stamping"), folder=folder, output=subprocess.PIPE)
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())
        self._stamps: dict[int, float] = {}
        self._news = threading.Condition()
        self.accepted = 0
        """Emails of every kind, as last told; told every thousand and with every stamp."""
        threading.Thread(target=self._listen, daemon=True).start()

    def __enter__(self) -> StampingSink:
        return self

    def __exit__(self, *details: object) -> None:
        stop(self._process)

    def stamp(self, number: int) -> float:
        """When email `number` was there; waits for it."""
        with self._news:
            if not self._news.wait_for(lambda: number in self._stamps, PATIENCE):
                raise TimeoutError(f"email {number} did not arrive within {PATIENCE:.0f} s")
            return self._stamps[number]

    def wait_for_any(self) -> None:
        with self._news:
            if not self._news.wait_for(lambda: self.accepted > 0, PATIENCE):
                raise TimeoutError(f"no email arrived within {PATIENCE:.0f} s")

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with suppress(ValueError):  # the file is closed when we are done
            for line in self._process.stdout:
                accepted, number, at = line.split()
                with self._news:
                    self.accepted = int(accepted)
                    if number != "-":
                        self._stamps[int(number)] = float(at)
                    self._news.notify_all()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def wait_for_port(port: int, seconds: float = PATIENCE) -> None:
    deadline = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise TimeoutError(f"nobody listens on port {port}") from None
            time.sleep(0.02)

"""Worker processes without the time it takes to import everything: one parent imports once and forks.

The parent is a process of its own, without threads, so that a fork is a clean copy. It is told on standard input what
to start, and tells on standard output who was born and who died how. When its input ends it kills all its children.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import selectors
import signal
import subprocess
import sys
import threading
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

NEEDED = (
    "postroom.cli.app",
    "postroom.work.worker",
    "postroom.broker.services",
    "psycopg",
    "psycopg_pool",
    "tests.work.application",
)


class WorkerProcess:
    """One forked `postroom worker`, or another command, or an application; what tests need of `subprocess.Popen`."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.log = Path(os.devnull)
        """What it says goes here."""
        self._code: int | None = None
        self._ended = threading.Event()

    def poll(self) -> int | None:
        return self._code

    def wait(self, timeout: float) -> int:
        """The exit code, or minus the signal that killed it."""
        if not self._ended.wait(timeout):
            raise TimeoutError(f"process {self.pid} did not end within {timeout:g} s")
        assert self._code is not None
        return self._code

    def send_signal(self, number: int) -> None:
        if self._code is None:
            with suppress(ProcessLookupError):  # it has just died, and the news is on its way
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def is_stopped(self) -> bool:
        """A signal takes effect a little after it was sent."""
        with suppress(psutil.NoSuchProcess):
            return bool(psutil.Process(self.pid).status() == psutil.STATUS_STOPPED)
        return False

    def most_memory(self) -> float:
        """The most it has had in memory so far, in MB."""
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{self.pid}/status").read_text())
        assert found
        return int(found[1]) / 1000

    def has_ended(self, code: int) -> None:
        self._code = code
        self._ended.set()


class Nursery:
    """Starts workers. A context manager: when it is left, none of them lives."""

    def __init__(self) -> None:
        self._parent = subprocess.Popen(
            [sys.executable, "-m", "tests.work.nursery"],
            cwd=Path(__file__).parents[2],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._alive: dict[int, WorkerProcess] = {}
        self._born: list[WorkerProcess] = []
        self._changed = threading.Condition()
        self._listener = threading.Thread(target=self._listen, name="nursery", daemon=True)
        self._listener.start()

    def start(self, command: list[str], *, environment: dict[str, str], folder: Path, log: Path) -> WorkerProcess:
        """Fork a `postroom` with this command and its arguments, or an `application`; returns when it is there."""
        wanted = {"command": command, "environment": environment, "folder": str(folder), "log": str(log)}
        assert self._parent.stdin is not None
        with self._changed:
            self._parent.stdin.write(json.dumps(wanted) + "\n")
            self._parent.stdin.flush()
            assert self._changed.wait_for(lambda: self._born, timeout=60), "no worker was born"
            born = self._born.pop()
            born.log = log
            return born

    def close(self) -> None:
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        self._parent.stdin.close()
        self._parent.wait()
        self._listener.join()
        self._parent.stdout.close()

    def _listen(self) -> None:
        assert self._parent.stdout is not None
        for line in self._parent.stdout:
            what, pid, *code = line.split()
            with self._changed:
                if what == "born":
                    self._alive[int(pid)] = WorkerProcess(int(pid))
                    self._born.append(self._alive[int(pid)])
                else:
                    self._alive.pop(int(pid)).has_ended(int(code[0]))
                self._changed.notify_all()


def _become_worker(wanted: dict[str, Any]) -> None:
    """In the child: everything as if it had been started from a shell."""
    from postroom.claim import failpoint
    from postroom.cli import main
    from tests.work import application

    log = os.open(wanted["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.chdir(wanted["folder"])
    os.environ.update(wanted["environment"])
    failpoint.arm(os.environ.get("POSTROOM_FAILPOINT"))
    program, *arguments = wanted["command"]
    if program == "application":
        application.main(*arguments)
        return
    sys.argv = ["postroom", program, *arguments]
    main()


def _serve() -> None:
    for needed in NEEDED:
        importlib.import_module(needed)  # once for all
    input_ended, children, waiting = False, set(), b""
    selector = selectors.DefaultSelector()
    selector.register(0, selectors.EVENT_READ)
    while not input_ended:
        if selector.select(timeout=0.01):
            data = os.read(0, 1 << 16)
            input_ended = not data
            waiting += data
        while b"\n" in waiting:
            line, _, waiting = waiting.partition(b"\n")
            children.add(_fork(json.loads(line)))
        _reap(children)
    for child in children:
        os.kill(child, signal.SIGKILL)
    while children:
        _reap(children, patiently=True)


def _fork(wanted: dict[str, Any]) -> int:
    child = os.fork()
    if child == 0:
        try:
            _become_worker(wanted)
            code = 0
        except SystemExit as leaving:
            code = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
        except BaseException:  # noqa: BLE001  a child must never run on as a second parent
            traceback.print_exc()
            sys.stderr.flush()
            code = 70
        os._exit(code)
    _tell(f"born {child}")
    return child


def _reap(children: set[int], *, patiently: bool = False) -> None:
    while children:
        child, status = os.waitpid(-1, 0 if patiently else os.WNOHANG)
        if not child:
            return
        children.discard(child)
        _tell(f"died {child} {os.waitstatus_to_exitcode(status)}")


def _tell(line: str) -> None:
    os.write(1, line.encode() + b"\n")


if __name__ == "__main__":
    _serve()

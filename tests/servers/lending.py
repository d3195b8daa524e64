"""One private server lent to everything that a command starts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import AbstractContextManager
from typing import Protocol


class Server(Protocol):
    """Whatever is running at a URL."""

    @property
    def url(self) -> str: ...


def lend(server: AbstractContextManager[Server], command: list[str], *, variable: str) -> int:
    """Run `command` with the server's URL in an environment variable, and return its exit code."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with server as lent:
        process = subprocess.Popen(command, env={**os.environ, variable: lent.url})
        try:
            return _exit_code(process)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()


def _exit_code(process: subprocess.Popen[bytes]) -> int:
    """Wait for the end, also through Ctrl-C, which the command receives as well and answers in its own way."""
    while True:
        try:
            code = process.wait()
        except KeyboardInterrupt:
            continue
        return code if code >= 0 else 128 - code

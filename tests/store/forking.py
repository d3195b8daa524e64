"""Children by a real fork: what they found comes back, and one that does not end by itself is an error."""

from __future__ import annotations

import json
import os
import signal
import time
import traceback
from collections.abc import Callable, Iterable
from typing import Any, Self

PATIENCE = 60.0


class Child:
    """A copy of this process that does one thing and is gone."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self._out, told = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            os.close(self._out)
            _do(work, told)
        os.close(told)

    @classmethod
    def several(cls, count: int, work: Callable[[int], Any]) -> list[Self]:
        return [cls(lambda number=number: work(number)) for number in range(count)]  # type: ignore[misc]

    def result(self) -> Any:
        """What it returned; an error when it raised, was killed or hung."""
        ended = self._await_end()
        with os.fdopen(self._out, "rb") as told:
            said = told.read()
        assert ended == 0, f"child {self.pid} ended with {ended}: {said.decode()}"
        return json.loads(said)

    def _await_end(self) -> int | str:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.005)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        return "no end of its own"


def _do(work: Callable[[], Any], told: int) -> None:
    code = 1
    try:
        os.write(told, json.dumps(work()).encode())
        code = 0
    except BaseException:  # noqa: BLE001  a child of a test must not come back into pytest
        os.write(told, traceback.format_exc().encode())
    finally:
        os._exit(code)


def results(children: Iterable[Child]) -> list[Any]:
    return [child.result() for child in children]

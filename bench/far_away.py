"""A network that takes its time: `python -m bench.far_away PORT SECONDS` forwards to PORT, a round trip taking SECONDS.

In a process of its own, so that it does not take turns with the client it slows down.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.world import python, start, stop
from postroom.testing import FaultProxy


@contextmanager
def far_away(port: int, *, round_trip: float, folder: Path) -> Iterator[int]:
    """The port from which `port` is a round trip of so many seconds away."""
    process = start(python("bench.far_away", port, round_trip), folder=folder, output=subprocess.PIPE)
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        stop(process)


if __name__ == "__main__":
    with FaultProxy(target_port=int(sys.argv[1]), round_trip=float(sys.argv[2])) as network:
        print(network.port, flush=True)
        sys.stdin.read()

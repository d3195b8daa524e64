"""Saying stop, by a signal, to a command that waits."""

from __future__ import annotations

import subprocess
import sys

STORM = """
import os, signal, sys, threading, time
{how}
def say():
    while time.monotonic() < ends:
        os.kill(os.getpid(), signal.SIGTERM)
ends = time.monotonic() + 1
saying = threading.Thread(target=say, daemon=True)
saying.start()
while saying.is_alive():
    wait(0.0001)
print(said())
"""
"""Says so again and again, while somebody waits again and again."""

OURS = "from postroom.cli.stopping import Stop; stop = Stop(); wait = stop.wait; said = lambda: stop.said"


def _storm(how: str, *, seconds: float) -> str:
    command = [sys.executable, "-c", STORM.format(how=how)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=seconds).stdout


def test_a_stop_that_comes_within_a_wait_holds_nobody_up() -> None:
    """Nor does one that nobody has heard yet, however often it is said."""
    assert _storm(OURS, seconds=60) == "True\n"


def test_a_wait_ends_as_soon_as_it_is_said_and_is_none_after_that() -> None:
    code = (
        "import os, signal, threading; from postroom.cli.stopping import Stop; stop = Stop();"
        "threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start();"
        "stop.wait(); stop.wait(); print(stop.said)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout == "True\n"


def test_who_is_not_told_to_stop_waits_for_its_time() -> None:
    code = "from postroom.cli.stopping import Stop; stop = Stop(); stop.wait(0.01); print(stop.said)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout == "False\n"

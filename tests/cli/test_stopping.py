"""Saying stop, by a signal, to a command that waits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from postroom.cli.stopping import Stop

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

OURS = "from postroom.cli.stopping import Stop; stop = Stop().__enter__(); wait = stop.wait; said = lambda: stop.said"


def _storm(how: str, *, seconds: float) -> str:
    command = [sys.executable, "-c", STORM.format(how=how)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=seconds).stdout


def test_a_stop_that_comes_within_a_wait_holds_nobody_up() -> None:
    """Nor does one that nobody has heard yet, however often it is said."""
    assert _storm(OURS, seconds=60) == "True\n"


def test_a_wait_ends_as_soon_as_it_is_said_and_is_none_after_that() -> None:
    code = (
        "import os, signal, threading; from postroom.cli.stopping import Stop; stop = Stop().__enter__();"
        "threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start();"
        "stop.wait(); stop.wait(); print(stop.said)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout == "True\n"


def test_who_is_not_told_to_stop_waits_for_its_time() -> None:
    code = "from postroom.cli.stopping import Stop; stop = Stop().__enter__(); stop.wait(0.01); print(stop.said)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout == "False\n"


def test_afterwards_signals_mean_what_they_meant_before() -> None:
    """Where a command is run within a process that goes on, nothing of it is left behind."""
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT), signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(before[2])
    with Stop() as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        stop.wait()
    after = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT), signal.set_wakeup_fd(before[2])

    assert stop.said
    assert after == before

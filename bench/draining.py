"""A drain: emails wait, a worker is started, and the clock runs until the sink has all of them and the books say so.

The clock starts with the first email accepted, so that start-up does not count, and stops when both the sink and the
contestant's own records have every email. A contestant that stops short fails; one that sends copies is told of.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import psutil

from bench.readings import Reading
from bench.sinks import Sink
from bench.world import Command, complaints, running

PATIENCE = 300.0
POLL = 0.02
CPU = ": processor time of the workers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """A queue with emails in it."""

    commands: Callable[[int], list[Command]]
    """The workers to start, given the port of the sink."""
    done: Callable[[], int]
    """How many emails are done by the contestant's own records."""


class Queue(Protocol):
    """Whoever can be drained."""

    name: str

    def filled(self, emails: int) -> AbstractContextManager[Filled]: ...


def drain(
    queue: Queue, emails: int, *, folder: Path, what: str, port: int | None = None, sink: Sink | None = None
) -> list[Reading]:
    """Emails per second, and the workers' processor time for each. With `port`, the sink is reached through that."""
    if sink is None:
        with Sink() as fresh:
            return drain(queue, emails, folder=folder, what=what, port=port, sink=fresh)
    with queue.filled(emails) as filled, running(filled.commands(port or sink.port), folder=folder) as workers:
        try:
            rate, microseconds = _clock(sink, filled, emails, workers)
        except (RuntimeError, TimeoutError) as error:
            error.add_note(complaints(folder))
            raise
    return [
        Reading(what=what, value=rate, unit="emails/s"),
        Reading(what=f"{what}{CPU}", value=microseconds, unit="µs/email"),
    ]


def there_and_back(one: Queue, other: Queue, emails: int, *, folder: Path) -> list[Reading]:
    """One, other, other, one: a machine that grows quicker or slower meanwhile favours neither."""
    drains = [drain(queue, emails, folder=folder, what=queue.name) for queue in (one, other, other, one)]
    return [*map(_mean, drains[0], drains[3]), *map(_mean, drains[1], drains[2])]


def _mean(one: Reading, other: Reading) -> Reading:
    return replace(one, value=(one.value + other.value) / 2)


def _clock(sink: Sink, filled: Filled, emails: int, workers: list[subprocess.Popen[str]]) -> tuple[float, float]:
    before = sink.accepted
    started = until(lambda: sink.accepted > before, workers)
    first, spent = sink.accepted - before, _processor_time(workers)
    until(lambda: sink.accepted - before >= emails, workers)
    spent = max(_processor_time(workers) - spent, 0.0)
    ended = until(lambda: filled.done() >= emails, workers)
    if sink.accepted - before != emails:
        raise RuntimeError(f"the sink accepted {sink.accepted - before} emails instead of {emails}")
    return (emails - first) / (ended - started), 1e6 * spent / max(emails - first, 1)


def _processor_time(workers: list[subprocess.Popen[str]]) -> float:
    """Seconds that the workers and their children have spent; of those that have ended already, nothing is known."""
    seconds = 0.0
    for worker in workers:
        with suppress(psutil.Error):
            process = psutil.Process(worker.pid)
            for each in (process, *process.children(recursive=True)):
                seconds += sum(each.cpu_times()[:2])
    return seconds


def until(condition: Callable[[], bool], workers: list[subprocess.Popen[str]]) -> float:
    """When the condition came true."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"the drain did not end within {PATIENCE:.0f} s")
        if all(worker.poll() is not None for worker in workers) and not condition():
            raise RuntimeError(
                f"the workers ended with {[worker.returncode for worker in workers]} before all was sent"
            )
        time.sleep(POLL)
    return time.monotonic()

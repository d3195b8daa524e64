"""From commit to accepted, with an idle worker in another process: an email every now and then, one at a time."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from bench import message
from bench.peers.procrastinate import ProcrastinateQueue
from bench.postroom_queue import on_postgres, on_sqlite, worker
from bench.readings import Contestant, Reading
from bench.sinks import StampingSink
from bench.world import World, running
from postroom import Outbox

POSTGRES = "commit to accepted, Postroom, PostgreSQL"
SQLITE = "commit to accepted, Postroom, SQLite"
PROCRASTINATE = "commit to accepted, Procrastinate"
WARMING_UP = 10

Submit = Callable[[int], None]
"""Commits email number n, addressed to be stamped."""


def median(what: str) -> str:
    return f"{what}, median"


def contestants(world: World) -> list[Contestant]:
    runs = (
        (POSTGRES, lambda port: _postroom(world, port, sqlite=False)),
        (SQLITE, lambda port: _postroom(world, port, sqlite=True)),
        (PROCRASTINATE, lambda port: ProcrastinateQueue(world, processes=1).idle(port)),
    )
    return [
        Contestant(name=what, measure=lambda what=what, idle=idle: _measure(world, what, idle))  # type: ignore[misc]
        for what, idle in runs
    ]


def stamped(number: int) -> str:
    """A recipient whose email the stamping sink tells the time of."""
    return f"stamp{number}@example.net"


@contextmanager
def _postroom(world: World, port: int, *, sqlite: bool) -> Iterator[Submit]:
    with (
        (on_sqlite if sqlite else on_postgres)(world) as url,
        Outbox(url) as outbox,
        running([worker(url, port, folder=world.folder)], folder=world.folder),
    ):
        yield lambda number: _submit(outbox, number)


def _submit(outbox: Outbox, number: int) -> None:
    outbox.enqueue(message.email(number, to=stamped(number)))


def _measure(world: World, what: str, idle: Callable[[int], AbstractContextManager[Submit]]) -> list[Reading]:
    pace = random.Random(7)
    milliseconds = []
    with StampingSink(world.folder) as sink, idle(sink.port) as submit:
        for number in range(WARMING_UP + world.scale.latencies):
            submit(number)
            committed = time.monotonic()
            taken = 1000 * (sink.stamp(number) - committed)
            if number >= WARMING_UP:
                milliseconds.append(taken)
            time.sleep(pace.uniform(0.03, 0.06))
    slowest = statistics.quantiles(milliseconds, n=100, method="inclusive")[-1]
    return [
        Reading(what=median(what), value=statistics.median(milliseconds), unit="ms"),
        Reading(what=f"{what}, 99th percentile", value=slowest, unit="ms"),
    ]

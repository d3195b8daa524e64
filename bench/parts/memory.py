"""A hundred thousand due emails: how much memory the worker takes, and how an urgent email gets past them."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from urllib.parse import urlsplit

import psutil

from bench import message
from bench.parts.latency import stamped
from bench.postroom_queue import on_postgres, worker
from bench.readings import Contestant, Reading
from bench.sinks import Sink, StampingSink
from bench.world import World, running, settle_down
from postroom import Outbox, Priority

MEMORY = "worker's memory at its highest, with all of the backlog due"
URGENT = "urgent email behind the backlog, commit to accepted"


def contestants(world: World) -> list[Contestant]:
    backlog = _Backlog(world)
    return [
        Contestant(name=MEMORY, measure=backlog.memory, once=True),
        Contestant(name=URGENT, measure=backlog.urgent, once=True),
    ]


class _Backlog:
    """An outbox full of bulk email, filled once and copied for each use."""

    def __init__(self, world: World) -> None:
        self._world = world

    @cached_property
    def _template(self) -> str:
        url = self._world.stack.enter_context(on_postgres(self._world))
        with Outbox(url) as outbox:
            emails = (message.email(number) for number in range(self._world.scale.backlog))
            outbox.enqueue_many(emails, priority=Priority.BULK)
        settle_down(url)
        return urlsplit(url).path.removeprefix("/")

    @contextmanager
    def _outbox(self) -> Iterator[Outbox]:
        """A copy of the full outbox."""
        with self._world.postgres.database(template=self._template) as url, Outbox(url) as outbox:
            yield outbox

    @contextmanager
    def _worker(self, outbox: Outbox, port: int) -> Iterator[psutil.Process]:
        folder = self._world.folder
        with running([worker(outbox.database_url, port, folder=folder)], folder=folder) as [process]:
            yield psutil.Process(process.pid)

    def memory(self) -> list[Reading]:
        """The highest resident size over the whole drain of the backlog."""
        highest = 0
        with self._outbox() as outbox, Sink() as sink, self._worker(outbox, sink.port) as process:
            while outbox.counts().get("sent", 0) < self._world.scale.backlog:
                highest = max(highest, process.memory_info().rss)
                time.sleep(0.1)
            highest = max(highest, process.memory_info().rss)
        return [Reading(what=MEMORY, value=highest / 1e6, unit="MB")]

    def urgent(self) -> list[Reading]:
        """Urgent emails now and then, while the worker is busy with the rest."""
        pace, milliseconds = random.Random(7), []
        with (
            self._outbox() as outbox,
            StampingSink(self._world.folder) as sink,
            self._worker(outbox, sink.port),
        ):
            sink.wait_for_any()
            for number in range(self._world.scale.urgent):
                outbox.enqueue(message.email(number, to=stamped(number)), priority=Priority.URGENT)
                committed = time.monotonic()
                milliseconds.append(1000 * (sink.stamp(number) - committed))
                time.sleep(pace.uniform(0.03, 0.1))
            left = outbox.counts().get("pending", 0)
        if not left:
            raise RuntimeError("the backlog was gone before the last urgent email: there was nothing to get past")
        return [
            Reading(what=f"{URGENT}, median", value=statistics.median(milliseconds), unit="ms"),
            Reading(what=f"{URGENT}, slowest", value=max(milliseconds), unit="ms"),
            Reading(what=f"{URGENT}, bulk emails left at the end", value=left, unit="emails"),
        ]

"""The whole way: `postroom worker` from the database to the sink, composing included, beside the ceiling."""

from __future__ import annotations

from bench.ceiling import CeilingQueue
from bench.draining import Queue, drain
from bench.postroom_queue import PostroomQueue
from bench.readings import Contestant
from bench.world import World

POSTGRES = "drain, Postroom, PostgreSQL, one process"
POSTGRES_TWO = "drain, Postroom, PostgreSQL, two processes"
SQLITE = "drain, Postroom, SQLite, one process"
SQLITE_TWO = "drain, Postroom, SQLite, two processes"
CEILING = "the ceiling: the same SMTP client, ready-made bytes, batched bookkeeping"
BARE_CEILING = "the bare ceiling: a sketch of a client in place of ours"


def contestants(world: World) -> list[Contestant]:
    queues: list[Queue] = [
        CeilingQueue(world, name=CEILING, client="postroom"),
        PostroomQueue(world, name=POSTGRES),
        PostroomQueue(world, name=POSTGRES_TWO, processes=2),
        PostroomQueue(world, name=SQLITE, sqlite=True),
        PostroomQueue(world, name=SQLITE_TWO, sqlite=True, processes=2),
        CeilingQueue(world, name=BARE_CEILING, client="bare"),
    ]
    return [_contestant(world, queue) for queue in queues]


def _contestant(world: World, queue: Queue) -> Contestant:
    return Contestant(
        name=queue.name,
        measure=lambda: drain(queue, world.scale.emails, folder=world.folder, what=queue.name),
    )

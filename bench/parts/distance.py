"""Twenty milliseconds away, sixteen connections: where saved round trips count."""

from __future__ import annotations

import asyncio

from bench import clients
from bench.clients import Client
from bench.draining import drain
from bench.far_away import far_away
from bench.postroom_queue import PostroomQueue
from bench.readings import Contestant, Reading
from bench.sinks import Sink
from bench.world import World

ROUND_TRIP = 0.020
WORKER = "20 ms away, Postroom's worker"
CLIENT = "20 ms away, Postroom's SMTP client"
THEIRS = "20 ms away, aiosmtplib"


def contestants(world: World) -> list[Contestant]:
    return [
        Contestant(name=WORKER, measure=lambda: _worker(world)),
        Contestant(name=CLIENT, measure=lambda: [_client(world, CLIENT, clients.postroom)]),
        Contestant(name=THEIRS, measure=lambda: [_client(world, THEIRS, clients.aiosmtplib_client)]),
    ]


def _worker(world: World) -> list[Reading]:
    queue = PostroomQueue(world, name=WORKER)
    with Sink() as sink, far_away(sink.port, round_trip=ROUND_TRIP, folder=world.folder) as port:
        emails = max(200, world.scale.emails // 8)
        return drain(queue, emails, folder=world.folder, what=WORKER, port=port, sink=sink)


def _client(world: World, what: str, client: Client) -> Reading:
    with Sink() as sink, far_away(sink.port, round_trip=ROUND_TRIP, folder=world.folder) as port:
        return Reading(what=what, value=asyncio.run(client(port, world.scale.seconds)), unit="emails/s")

"""The peers' drains, in the same rounds as ours."""

from __future__ import annotations

from bench.draining import Queue, drain
from bench.peers.celery import CeleryQueue
from bench.peers.node import NodeQueue
from bench.peers.pgqueuer import PgQueuerQueue
from bench.peers.post_office import PostOfficeQueue
from bench.peers.procrastinate import ProcrastinateQueue
from bench.readings import Contestant
from bench.world import World


def queues(world: World) -> list[tuple[Queue, float]]:
    """Each peer, and its share of the emails: the slow get fewer, so that all take about as long."""
    return [
        (PgQueuerQueue(world, processes=1), 0.5),
        (PgQueuerQueue(world, processes=2), 0.5),
        (NodeQueue(world, title="pg-boss and nodemailer", script="pgboss", processes=1), 0.5),
        (NodeQueue(world, title="pg-boss and nodemailer", script="pgboss", processes=2), 0.5),
        (NodeQueue(world, title="Graphile Worker and nodemailer", script="graphile", processes=1), 0.4),
        (NodeQueue(world, title="Graphile Worker and nodemailer", script="graphile", processes=2), 0.4),
        (CeleryQueue(world), 0.25),
        (PostOfficeQueue(world), 0.2),
        (ProcrastinateQueue(world, processes=1), 0.125),
        (ProcrastinateQueue(world, processes=2), 0.125),
    ]


def contestants(world: World) -> list[Contestant]:
    return [_contestant(world, queue, int(world.scale.emails * share)) for queue, share in queues(world)]


def _contestant(world: World, queue: Queue, emails: int) -> Contestant:
    return Contestant(name=queue.name, measure=lambda: drain(queue, emails, folder=world.folder, what=queue.name))

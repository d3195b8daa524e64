"""Drains through RabbitMQ: one scheduler and one sender, beside the direct worker and beside Celery, close in time."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from bench import message
from bench.draining import Filled, drain
from bench.peers.celery import CeleryQueue
from bench.postroom_queue import CONNECTIONS, PostroomQueue, on_postgres
from bench.readings import Contestant, Reading
from bench.world import Command, World, settle_down
from postroom import Outbox
from tests.servers import rabbitmq

BROKERED = "drain, Postroom, PostgreSQL, through RabbitMQ"
DIRECT = "drain, Postroom, PostgreSQL, beside it"
CELERY = "drain, Celery and RabbitMQ, beside it"


def contestants(world: World) -> list[Contestant]:
    queues = {
        BROKERED: BrokeredQueue(world),
        DIRECT: PostroomQueue(world, name=DIRECT),
        CELERY: CeleryQueue(world),
    }

    def beside_each_other() -> list[Reading]:
        return [
            reading
            for what, queue in queues.items()
            for reading in drain(queue, world.scale.emails, folder=world.folder, what=what)
        ]

    return [Contestant(name=BROKERED, measure=beside_each_other)]


class BrokeredQueue:
    """An outbox and a broker of its own."""

    name = BROKERED

    def __init__(self, world: World) -> None:
        self._world = world

    @contextmanager
    def filled(self, emails: int) -> Iterator[Filled]:
        with on_postgres(self._world) as url, Outbox(url) as outbox, rabbitmq.server() as broker:
            outbox.enqueue_many(message.email(number) for number in range(emails))
            settle_down(url)
            yield Filled(
                commands=lambda port: self._services(url, broker.url, port),
                done=lambda: outbox.counts().get("sent", 0),
            )

    def _services(self, url: str, broker: str, port: int) -> list[Command]:
        """Silent but for warnings: a line for every email that was published is for operators, not for a race."""
        environment = {
            "POSTROOM_DATABASE": url,
            "POSTROOM_BROKER": broker,
            "POSTROOM_SMTP": f"smtp://127.0.0.1:{port}?connections={CONNECTIONS}",
            "POSTROOM_JOURNAL": str(self._world.folder / f"journal-{secrets.token_hex(4)}"),
        }
        return [
            Command(
                arguments=[sys.executable, "-m", "postroom.cli", service, "--log-level", "warning"],
                environment=environment,
            )
            for service in ("scheduler", "sender")
        ]

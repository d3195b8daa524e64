"""Celery over a RabbitMQ of its own, two worker processes, acknowledged after sending."""

from __future__ import annotations

import os
import smtplib
from collections.abc import Iterator
from contextlib import contextmanager

from celery import Celery

from bench import message
from bench.draining import Filled
from bench.world import World, python
from tests.servers import rabbitmq

app = Celery("bench", broker=os.environ.get("BENCH_BROKER"))
app.conf.update(
    task_acks_late=True,
    task_ignore_result=True,
    task_default_queue="mail",
    worker_prefetch_multiplier=200,
    worker_send_task_events=False,
    broker_connection_retry_on_startup=True,
)
_clients: list[smtplib.SMTP] = []


@app.task(name="send_mail")
def send_mail(to: str, raw: str) -> None:
    """Over one connection a process, which is kept open."""
    client = _clients.pop() if _clients else smtplib.SMTP("127.0.0.1", int(os.environ["BENCH_PORT"]))
    client.sendmail(message.SENDER, [to], raw.encode())
    _clients.append(client)


class CeleryQueue:
    """A queue in a broker; there are no records of what was sent but that the queue is empty."""

    name = "drain, Celery and RabbitMQ, two processes"

    def __init__(self, world: World) -> None:
        self._world = world

    @contextmanager
    def filled(self, emails: int) -> Iterator[Filled]:
        with rabbitmq.server() as broker:
            _fill(broker.url, emails)
            options = ["--concurrency", "2", "-Ofair", "--without-gossip", "--without-mingle", "--without-heartbeat"]
            yield Filled(
                commands=lambda port: [
                    python("celery", "-A", "bench.peers.celery", "worker", *options, "-l", "ERROR",
                           BENCH_BROKER=broker.url, BENCH_PORT=str(port))
                ],
                done=lambda: emails,
            )  # fmt: skip


def _fill(url: str, emails: int) -> None:
    """Over a connection of its own: Celery's pools remember the broker of an earlier round."""
    with app.connection_for_write(url) as connection, app.amqp.Producer(connection) as producer:
        for number in range(emails):
            arguments = (message.recipient(number), message.ready_made(number).decode())
            send_mail.apply_async(arguments, producer=producer)

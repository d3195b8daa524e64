"""Celery over a RabbitMQ of its own, two worker processes, acknowledged after sending."""

from __future__ import annotations

import os
import shutil
import smtplib
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

from celery import Celery

from bench import message
from bench.draining import Filled
from bench.readings import Absent
from bench.sinks import free_port, wait_for_port
from bench.world import World, python, stop

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
        with _broker() as url:
            _fill(url, emails)
            options = ["--concurrency", "2", "-Ofair", "--without-gossip", "--without-mingle", "--without-heartbeat"]
            yield Filled(
                commands=lambda port: [
                    python("celery", "-A", "bench.peers.celery", "worker", *options, "-l", "ERROR",
                           BENCH_BROKER=url, BENCH_PORT=str(port))
                ],
                done=lambda: emails,
            )  # fmt: skip


def _fill(url: str, emails: int) -> None:
    app.conf.broker_url = url
    with app.producer_pool.acquire(block=True) as producer:
        for number in range(emails):
            arguments = (message.recipient(number), message.ready_made(number).decode())
            send_mail.apply_async(arguments, producer=producer)
    app.close()


@contextmanager
def _broker() -> Iterator[str]:
    """A private RabbitMQ on loopback."""
    program = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
    if not program.exists():
        raise Absent("RabbitMQ is not installed; as root, `apt-get install rabbitmq-server`")
    home, port, epmd = Path(mkdtemp(prefix="postroom-rabbitmq-")), free_port(), free_port()
    user = "rabbitmq" if os.geteuid() == 0 else None
    if user:
        shutil.chown(home, user, user)
    environment = {
        **os.environ,
        "HOME": str(home),
        "RABBITMQ_NODENAME": f"bench{port}@localhost",
        "RABBITMQ_NODE_PORT": str(port),
        "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
        "RABBITMQ_MNESIA_BASE": str(home),
        "RABBITMQ_LOG_BASE": str(home),
        "RABBITMQ_CONFIG_FILE": str(home / "none"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(home / "plugins"),
        "RABBITMQ_DIST_PORT": str(free_port()),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
        "ERL_EPMD_ADDRESS": "127.0.0.1",
        "ERL_EPMD_PORT": str(epmd),
    }
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": "/", "env": environment, "user": user}
    process = subprocess.Popen([program], text=True, **quiet)  # type: ignore[call-overload]
    try:
        wait_for_port(port)
        time.sleep(3)  # it listens a little before it serves
        yield f"amqp://guest:guest@127.0.0.1:{port}//"
    finally:
        control = program.with_name("rabbitmqctl")
        subprocess.run([control, "-q", "stop"], check=False, **quiet)  # type: ignore[call-overload]
        stop(process)
        subprocess.run(
            ["epmd", "-port", str(epmd), "-kill"], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        shutil.rmtree(home, ignore_errors=True)

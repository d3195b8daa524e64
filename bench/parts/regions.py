"""One region's PostgreSQL is killed under load: what the others send afterwards, beside what they sent before.

Each region sends at a pace that leaves the machine room to spare. Unpaced, whoever is left would have the processor
time of the one that died, and grow quicker: that would hide what its trouble costs them.
"""

from __future__ import annotations

import secrets
import sys
import time
from contextlib import ExitStack

from bench import message
from bench.draining import until
from bench.postroom_queue import on_postgres
from bench.readings import Contestant, Reading
from bench.sinks import Sink
from bench.world import Command, World, complaints, running, space_checkpoints
from postroom import Outbox
from tests.servers.postgres_cluster import PostgresCluster

BEFORE = "three regions: rate of two, before the database of the third is killed"
AFTER = "three regions: rate of two, after the database of the third was killed"

HEALTHY, DOOMED = ("deu1", "usa1"), "sgp1"
PACE = 100
"""Emails per second and region."""


def contestants(world: World) -> list[Contestant]:
    return [Contestant(name=AFTER, measure=lambda: _measure(world))]


def _measure(world: World) -> list[Reading]:
    window = world.scale.seconds
    emails = int(PACE * window * 6)  # more than can be sent until both rates are taken
    with ExitStack() as stack:
        cluster = stack.enter_context(PostgresCluster.create(durable=True))
        space_checkpoints(cluster.url)
        urls = {name: stack.enter_context(on_postgres(world)) for name in HEALTHY} | {DOOMED: cluster.url}
        sinks = {name: stack.enter_context(Sink()) for name in urls}
        for url in urls.values():
            _fill(url, emails)
        commands = [_worker(world, name, url, sinks[name].port) for name, url in urls.items()]
        workers = stack.enter_context(running(commands, folder=world.folder))
        try:
            until(lambda: all(sink.accepted > PACE * window / 4 for sink in sinks.values()), workers)
            before = _rate([sinks[name] for name in HEALTHY], window)
            cluster.kill()
            after = _rate([sinks[name] for name in HEALTHY], window)
        except (RuntimeError, TimeoutError) as error:
            error.add_note(complaints(world.folder))
            raise
        if any(sinks[name].accepted >= emails for name in HEALTHY):
            raise RuntimeError("the backlog was gone before the rate could be judged: there was nothing left to do")
    return [
        Reading(what=BEFORE, value=before, unit="emails/s"),
        Reading(what=AFTER, value=after, unit="emails/s"),
    ]


def _fill(url: str, emails: int) -> None:
    with Outbox(url) as outbox:
        outbox.migrate()
        outbox.enqueue_many(message.email(number) for number in range(emails))


def _worker(world: World, name: str, url: str, port: int) -> Command:
    return Command(
        arguments=[sys.executable, "-m", "postroom.cli", "worker", "--region", name],
        environment={
            f"POSTROOM_REGIONS__{name.upper()}__DATABASE": url,
            "POSTROOM_SMTP": f"smtp://127.0.0.1:{port}?rate={PACE}/s",
            "POSTROOM_JOURNAL": str(world.folder / f"journal-{secrets.token_hex(4)}"),
        },
    )


def _rate(sinks: list[Sink], seconds: float) -> float:
    """Emails per second that all of these accept together."""
    began, accepted = time.monotonic(), sum(sink.accepted for sink in sinks)
    time.sleep(seconds)
    return (sum(sink.accepted for sink in sinks) - accepted) / (time.monotonic() - began)

"""PgQueuer: a job queue on PostgreSQL. `python -m bench.peers.pgqueuer URL PORT CONNECTIONS` is its worker."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgPoolDriver
from pgqueuer.models import Job
from pgqueuer.queries import Queries

from bench import message
from bench.draining import Filled
from bench.peers.smtp_pool import SmtpPool
from bench.world import World, python, scalar, settle_down

BATCH = 500


class PgQueuerQueue:
    """Its schema in a fresh database."""

    def __init__(self, world: World, *, processes: int) -> None:
        self.name = f"drain, PgQueuer, {'one process' if processes == 1 else 'two processes'}"
        self._world = world
        self._processes = processes
        self._connections = 32 if processes == 1 else 16

    @contextmanager
    def filled(self, emails: int) -> Iterator[Filled]:
        with self._world.postgres.database() as url:
            asyncio.run(_fill(url, emails))
            settle_down(url)
            command = "bench.peers.pgqueuer"
            yield Filled(
                commands=lambda port: [python(command, url, port, self._connections) for _ in range(self._processes)],
                done=lambda: scalar(url, "SELECT count(*) FROM pgqueuer_log WHERE status = 'successful'"),
            )


async def _fill(url: str, emails: int) -> None:
    connection = await asyncpg.connect(url)
    queries = Queries.from_asyncpg_connection(connection)
    await queries.install()
    for start in range(0, emails, 1000):
        batch = range(start, min(emails, start + 1000))
        payloads: list[bytes | None] = [
            message.recipient(number).encode() + b"\0" + message.ready_made(number) for number in batch
        ]
        await queries.enqueue(["send_mail"] * len(batch), payloads, [0] * len(batch))
    await connection.close()


async def work(url: str, port: int, connections: int) -> None:
    database = await asyncpg.create_pool(url, min_size=2, max_size=8)
    queuer, pool = PgQueuer(AsyncpgPoolDriver(database)), SmtpPool(port, connections=connections)

    @queuer.entrypoint("send_mail")
    async def send_mail(job: Job) -> None:
        assert job.payload is not None
        to, _, body = job.payload.partition(b"\0")
        await pool.send(to.decode(), body)

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, queuer.shutdown.set)
    await queuer.run(batch_size=BATCH, max_concurrent_tasks=2 * BATCH)


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))

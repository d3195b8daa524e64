"""Procrastinate: a task queue on PostgreSQL. `python -m bench.peers.procrastinate URL PORT TASKS` is its worker."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import procrastinate
from procrastinate.types import JSONValue

from bench import message
from bench.draining import Filled
from bench.peers.smtp_pool import SmtpPool
from bench.world import Command, World, execute, python, running, scalar, settle_down

QUEUE, TASK = "mail", "send_mail"


class ProcrastinateQueue:
    """Its schema in a fresh database."""

    def __init__(self, world: World, *, processes: int) -> None:
        self.name = f"drain, Procrastinate, {'one process' if processes == 1 else 'two processes'}"
        self._world = world
        self._processes = processes
        self._concurrency = 8 if processes == 1 else 16

    @contextmanager
    def filled(self, emails: int) -> Iterator[Filled]:
        with self._database() as (url, app):
            for start in range(0, emails, 1000):
                batch = range(start, min(emails, start + 1000))
                app.configure_task(TASK, queue=QUEUE).batch_defer(*map(_job, batch))
            settle_down(url)
            yield Filled(
                commands=lambda port: [self._worker(url, port) for _ in range(self._processes)],
                done=lambda: scalar(url, "SELECT count(*) FROM procrastinate_jobs WHERE status = 'succeeded'"),
            )

    @contextmanager
    def idle(self, port: int) -> Iterator[Callable[[int], None]]:
        """A worker that waits, and a way to give it one email, addressed to be stamped."""
        with self._database() as (url, app), running([self._worker(url, port)], folder=self._world.folder):
            task = app.configure_task(TASK, queue=QUEUE)
            yield lambda n: _ignore(task.defer(to=f"stamp{n}@example.net", raw=message.ready_made(n).decode()))

    def _worker(self, url: str, port: int) -> Command:
        return python("bench.peers.procrastinate", url, port, self._concurrency)

    @contextmanager
    def _database(self) -> Iterator[tuple[str, procrastinate.App]]:
        with self._world.postgres.database() as url:
            app = procrastinate.App(connector=procrastinate.SyncPsycopgConnector(conninfo=url))
            with app.open():
                execute(url, app.schema_manager.get_schema())
                yield url, app


def _job(number: int) -> dict[str, JSONValue]:
    return {"to": message.recipient(number), "raw": message.ready_made(number).decode()}


def _ignore(_job: int) -> None: ...


async def work(url: str, port: int, concurrency: int) -> None:
    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=url, min_size=4, max_size=16))
    pool = SmtpPool(port, connections=16)

    @app.task(name=TASK, queue=QUEUE)
    async def send_mail(to: str, raw: str) -> None:
        await pool.send(to, raw.encode())

    async with app.open_async():
        await app.run_worker_async(queues=[QUEUE], concurrency=concurrency, install_signal_handlers=True)


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))

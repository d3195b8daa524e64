"""Postroom itself, through its public surface: `Outbox` to fill, `postroom worker` to send."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench import message
from bench.draining import Filled
from bench.world import ROOT, Command, World, settle_down
from postroom import Outbox

CONNECTIONS = 16


def worker(
    url: str, port: int, *, folder: Path, processes: int = 1, connections: int = CONNECTIONS, path: str = str(ROOT)
) -> Command:
    """`postroom worker`, sending to a port of this machine; with `path`, the one that is found there."""
    return Command(
        arguments=[sys.executable, "-m", "postroom.cli", "worker", "--processes", str(processes)],
        environment={
            "POSTROOM_DATABASE": url,
            "POSTROOM_SMTP": f"smtp://127.0.0.1:{port}?connections={connections}",
            "POSTROOM_JOURNAL": str(folder / f"journal-{secrets.token_hex(4)}"),
            "PYTHONPATH": path,
        },
    )


@contextmanager
def on_postgres(world: World) -> Iterator[str]:
    """A migrated, empty outbox on PostgreSQL."""
    with world.postgres.database() as url:
        with Outbox(url) as outbox:
            outbox.migrate()
        yield url


@contextmanager
def on_sqlite(world: World) -> Iterator[str]:
    """A migrated, empty outbox on SQLite."""
    path = world.folder / f"{secrets.token_hex(4)}.db"
    url = f"sqlite:///{path}"
    with Outbox(url) as outbox:
        outbox.migrate()
    try:
        yield url
    finally:
        for file in path.parent.glob(f"{path.name}*"):
            file.unlink()


class PostroomQueue:
    """An outbox that is made for each drain."""

    def __init__(self, world: World, *, name: str, sqlite: bool = False, processes: int = 1) -> None:
        self.name = name
        self._world = world
        self._home = on_sqlite if sqlite else on_postgres
        self._processes = processes

    @contextmanager
    def filled(self, emails: int) -> Iterator[Filled]:
        with (
            self._home(self._world) as url,
            filled_outbox(self._world, url, emails, processes=self._processes) as filled,
        ):
            yield filled


@contextmanager
def filled_outbox(world: World, url: str, emails: int, *, processes: int = 1) -> Iterator[Filled]:
    """So many emails more in an outbox that exists."""
    with Outbox(url) as outbox:
        before = outbox.counts().get("sent", 0)
        outbox.enqueue_many(message.email(number) for number in range(emails))
        if url.startswith("postgresql"):
            settle_down(url)
        yield Filled(
            commands=lambda port: [worker(url, port, folder=world.folder, processes=processes)],
            done=lambda: outbox.counts().get("sent", 0) - before,
        )

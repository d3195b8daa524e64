"""What an email costs a worker: its processor time, user and system, for a drain on PostgreSQL.

With `--against REV`, the same for the code of another revision, and the ratio of the two. Each has its own outbox,
filled and drained by its own code; this code's tables are never shown to the other's worker.
"""

from __future__ import annotations

import io
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import mean

from bench.draining import Filled, drain
from bench.postroom_queue import worker
from bench.readings import Contestant, Reading
from bench.world import ROOT, World, finish, python, scalar, settle_down

COST = "worker: processor time per email"
THEIRS = f"{COST}, the other revision"
RATIO = f"{COST}, of the other revision's"
_SENT = "SELECT count(*) FROM postroom.emails WHERE status = 'sent'"


def contestants(world: World) -> list[Contestant]:
    ours = RevisionQueue(world, name=COST, source=ROOT / "src")
    if world.against is None:
        return [Contestant(name=COST, measure=lambda: [_cost(world, ours)])]
    theirs = RevisionQueue(world, name=THEIRS, source=_source_of(world, world.against))

    def there_and_back() -> list[Reading]:
        """Ours, theirs, theirs, ours: a machine that grows quicker or slower meanwhile favours neither."""
        costs = [_cost(world, queue) for queue in (ours, theirs, theirs, ours)]
        own, other = mean((costs[0].value, costs[3].value)), mean((costs[1].value, costs[2].value))
        return [
            replace(costs[0], value=own),
            replace(costs[1], value=other),
            Reading(what=RATIO, value=own / other, unit="×"),
        ]

    return [Contestant(name=COST, measure=there_and_back)]


def _cost(world: World, queue: RevisionQueue) -> Reading:
    _, spent = drain(queue, world.scale.emails, folder=world.folder, what=queue.name)
    return replace(spent, what=queue.name)


def _source_of(world: World, revision: str) -> Path:
    """The code of a revision, in a folder of its own."""
    packed = subprocess.run(["git", "archive", revision, "src"], cwd=ROOT, capture_output=True, check=True).stdout
    folder = world.folder / "the-other-revision"
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return folder / "src"


class RevisionQueue:
    """An outbox that is made, filled and drained by the Postroom in some folder."""

    def __init__(self, world: World, *, name: str, source: Path) -> None:
        self.name = name
        self._world = world
        self._path = f"{source}:{ROOT}"

    @contextmanager
    def filled(self, emails: int) -> Iterator[Filled]:
        folder = self._world.folder
        with self._world.postgres.database() as url:
            finish(python("bench.fill", url, emails, PYTHONPATH=self._path), folder=folder)
            settle_down(url)
            yield Filled(
                commands=lambda port: [worker(url, port, folder=folder, path=self._path)],
                done=lambda: scalar(url, _SENT),
            )

"""pg-boss and Graphile Worker, with nodemailer's pool; their packages go into a cache folder of the user."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import psycopg

from bench import message
from bench.draining import Filled
from bench.readings import Absent
from bench.world import Command, World, finish, scalar, settle_down

_HERE = Path(__file__).parent
_PACKAGES = ("nodemailer", "pg", "pg-boss", "graphile-worker")
_DONE = {
    "pgboss": "SELECT count(*) FROM pgboss.job WHERE name = 'mail' AND state = 'completed'",
    "graphile": "SELECT {emails} - count(*) FROM graphile_worker.jobs",  # a finished job is deleted
}
_FILL = {
    "pgboss": "INSERT INTO pgboss.job (name, data) SELECT 'mail', job FROM unnest(%s::jsonb[]) AS job",
    "graphile": "SELECT count(*) FROM unnest(%s::json[]) AS job, LATERAL graphile_worker.add_job('send_mail', job)",
}


class NodeQueue:
    """A queue whose worker is a script beside this file."""

    def __init__(self, world: World, *, title: str, script: str, processes: int) -> None:
        self.name = f"drain, {title}, {'one process' if processes == 1 else 'two processes'}"
        self._world = world
        self._script = script
        self._processes = processes

    @contextmanager
    def filled(self, emails: int) -> Iterator[Filled]:
        with self._world.postgres.database() as url:
            finish(self._command("prepare", url), folder=self._world.folder)
            _fill(url, _FILL[self._script], emails)
            settle_down(url)
            yield Filled(
                commands=lambda port: [self._command("work", url, port) for _ in range(self._processes)],
                done=lambda: scalar(url, _DONE[self._script].format(emails=emails)),
            )

    def _command(self, *arguments: object) -> Command:
        program = ["node", str(_HERE / f"{self._script}.mjs"), *map(str, arguments)]
        return Command(arguments=program, environment={"BENCH_PACKAGES": f"{packages()}/"})


def _fill(url: str, statement: str, emails: int) -> None:
    with psycopg.connect(url) as connection:
        for start in range(0, emails, 1000):
            numbers = range(start, min(emails, start + 1000))
            jobs = [json.dumps({"to": message.recipient(n), "raw": message.ready_made(n).decode()}) for n in numbers]
            connection.execute(statement, (jobs,))
            connection.commit()


@cache
def packages() -> Path:
    """The folder in which the packages are installed, now if need be."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        raise Absent("Node.js is not installed; as root, `apt-get install nodejs npm`")
    cache_home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache_home / "postroom-bench" / "node"
    if all((folder / "node_modules" / package).is_dir() for package in _PACKAGES):
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text('{"private": true}')
    done = subprocess.run(
        ["npm", "install", "--silent", *_PACKAGES], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise Absent(f"npm could not install {', '.join(_PACKAGES)}: {done.stderr.strip()[-200:]}")
    return folder

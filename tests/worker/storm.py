"""The long form of the crash suite: a thousand and more kills, and a count of every copy.

    python -m tests.worker.storm --kills 1000

Rounds on SQLite and on PostgreSQL in turns, with one worker and with four. In each round workers die and are replaced
while emails keep coming: at a named place of their own, at a moment of the conversation that the server chooses, at
random, or stopped past their lease and then killed or let go on. In some rounds each worker keeps its journal where
nobody else can read it, as on machines of their own. At the end of a round healthy workers finish what is left, and
every Message-ID is counted at the server.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from postroom import EmailId, Outbox
from postroom.testing import ScriptedSmtp
from tests.servers.postgres import PostgresServer
from tests.servers.postgres import server as postgres_server
from tests.worker.assassin import MOMENTS, Assassin
from tests.worker.nursery import Nursery, WorkerProcess
from tests.worker.office import Office, wait_until
from tests.worker.tally import Tally, take

PLACES = ("claimed", "before_dot", "reply_read", "journalled", "before_settle", "after_settle", "taken_over")
LEASE = 1.0
SLOW_REPLY = 0.03
"""Seconds until the server answers a dot: a worker is mostly found waiting for it."""
KILLS_PER_ROUND = 24
AT_LEAST_WAITING = 30
DEATHS = ("place", "moment", "random", "stop")
"""At a place of its own, at a moment of the server's, at random, and stopped past the lease before that (`resumed`)."""


@dataclass(slots=True, kw_only=True)
class Weather:
    """One kind of round, and what came of all rounds of its kind."""

    store: str
    workers: int
    journals: str
    """`shared`, or `apart`: each worker's journal is out of the others' reach."""
    kills: Counter[str] = field(default_factory=Counter)
    tally: Tally = field(default_factory=Tally)


class Round:
    """One outbox in the storm."""

    def __init__(self, office: Office, weather: Weather, folder: Path, dice: random.Random) -> None:
        self._office = office
        self._weather = weather
        self._folder = folder
        self._dice = dice
        self._doomed: dict[WorkerProcess, tuple[str, float]] = {}
        """Each worker with how it is to die, and when at the latest."""
        self._stopped: dict[WorkerProcess, float] = {}
        self._ids: list[EmailId] = []
        self._look_again = 0.0
        self.kills: Counter[str] = Counter()

    def rage(self, kills: int) -> None:
        """Kill so many workers while emails keep coming, then let healthy ones finish."""
        self._brief_server()
        while self.kills.total() < kills:
            self._keep_emails_coming()
            while len(self._doomed) < self._weather.workers:
                self._start_one()
            self._strike()
            self._bury()
            time.sleep(0.005)
        self._calm()

    def tally(self) -> Tally:
        return take(self._office, self._ids)

    def accusations(self) -> Iterator[str]:
        """What there is to know about each email that the promise was broken to."""
        for id in self._ids:
            if take(self._office, [id]).violations:
                email = self._office.get(id)
                story = "; ".join(f"{entry.what} {dict(entry.detail)}" for entry in email.history)
                yield f"{email.on_doubt} {email.status} copies={self._office.copies(id)} {email.last_error}: {story}"

    def _keep_emails_coming(self) -> None:
        if time.monotonic() < self._look_again:
            return
        self._look_again = time.monotonic() + 0.1
        if self._office.outbox.counts()["sent"] + AT_LEAST_WAITING > len(self._ids):
            for wish in ("resend", "hold", "resend"):
                self._ids += self._office.enqueue(self._dice.randint(5, 25), on_doubt=wish)

    def _start_one(self) -> None:
        manner, environment = self._dice.choice(DEATHS), {}
        patience = self._dice.uniform(0.05, 0.8) * self._weather.workers**0.5
        if manner == "place":
            place, patience = self._dice.choice(PLACES), self._weather.workers**0.5
            environment["POSTROOM_FAILPOINT"] = f"{place}:{1 if place == 'claimed' else self._dice.randint(1, 12)}"
        if manner == "moment":
            patience = self._weather.workers**0.5
            self._brief_server()
            Assassin(
                self._office.server,
                self._dice.choice(list(MOMENTS)),
                nth=self._dice.randint(1, 12),
                victim=self._victim,
            )
        worker = self._office.start_worker(
            lease=f"{LEASE:g}s",
            options=f"connections={self._dice.choice([1, 2, 8])}",
            journals=self._journals(),
            **environment,
        )
        self._doomed[worker] = manner, time.monotonic() + patience

    def _victim(self) -> int:
        """Whom the server kills: somebody, for it cannot tell whose connection it is."""
        worker = self._dice.choice(list(self._doomed))
        self._doomed[worker] = "moment", self._doomed[worker][1]
        return worker.pid

    def _brief_server(self) -> None:
        self._office.server.clear_script()
        self._office.server.script(at="dot", delay=SLOW_REPLY)

    def _journals(self) -> Path:
        if self._weather.journals == "shared":
            return self._folder / "journals"
        return self._folder / f"journals-{self._dice.getrandbits(64):x}"

    def _strike(self) -> None:
        """Those whose time has come: killed, or stopped for longer than their lease first."""
        now = time.monotonic()
        for worker, (manner, deadline) in self._doomed.items():
            if worker in self._stopped:
                if now > self._stopped[worker]:
                    del self._stopped[worker]
                    worker.send_signal(signal.SIGCONT)
                    self._doomed[worker] = "resumed", now + self._dice.choice([0.0, 0.3])
            elif now > deadline:
                if manner == "stop" and self._office.try_to_stop(worker):
                    self._stopped[worker] = now + LEASE * self._dice.uniform(1.1, 1.8)
                else:
                    # It has not come to where it was to die, or it was to die at no place in particular.
                    self._doomed[worker] = "resumed" if manner == "resumed" else "random", deadline
                    worker.kill()

    def _bury(self) -> None:
        for worker in [worker for worker in self._doomed if worker.poll() is not None]:
            manner, _deadline = self._doomed.pop(worker)
            self._stopped.pop(worker, None)
            if worker.poll() == -signal.SIGKILL:
                self.kills[manner] += 1
            else:
                raise RuntimeError(f"a worker ended by itself with {worker.poll()}:\n{self._office.logs()[-4000:]}")

    def _calm(self) -> None:
        for worker in self._doomed:
            worker.send_signal(signal.SIGCONT)
            worker.kill()
        wait_until(lambda: all(worker.poll() is not None for worker in self._doomed))
        self._bury()
        self._office.server.clear_script()
        self._office.finish(workers=2, lease=f"{LEASE:g}s", journals=self._journals(), patience=180)


@contextmanager
def outbox_on(store: str, postgres: PostgresServer, folder: Path) -> Iterator[str]:
    """The URL of a fresh, migrated database."""
    if store == "sqlite":
        yield _migrated(f"sqlite:///{folder / 'outbox.db'}")
        return
    with postgres.database() as url:
        yield _migrated(url)


def _migrated(url: str) -> str:
    with Outbox(url) as outbox:
        outbox.migrate()
    return url


def storm(kills: int, seed: int, console: Console) -> list[Weather]:
    """Round after round until so many workers have been killed."""
    skies = [
        Weather(store=store, workers=workers, journals=journals)
        for journals in ("shared", "apart")
        for workers in (1, 4)
        for store in ("sqlite", "postgres")
    ]
    dice, nursery, done = random.Random(seed), Nursery(), 0
    with postgres_server() as postgres, Progress(console=console) as progress:
        task = progress.add_task("kills", total=kills)
        while done < kills:
            weather = min(skies, key=lambda sky: sky.kills.total())
            done += _one_round(weather, postgres, nursery, dice, console)
            progress.update(task, completed=done)
    nursery.close()
    return skies


def _one_round(
    weather: Weather, postgres: PostgresServer, nursery: Nursery, dice: random.Random, console: Console
) -> int:
    with tempfile.TemporaryDirectory(prefix="postroom-storm-") as name, ScriptedSmtp() as server:
        folder = Path(name)
        with (
            outbox_on(weather.store, postgres, folder) as url,
            Office(url, server, folder, nursery) as office,
        ):
            one = Round(office, weather, folder, dice)
            one.rage(KILLS_PER_ROUND)
            tally = one.tally()
            console.print(f"{weather.store}, {weather.workers} workers, journals {weather.journals}: {tally}")
            for line in one.accusations():
                console.print(f"[red]{line}[/red]")
    weather.kills += one.kills
    weather.tally += tally
    return one.kills.total()


def table(skies: list[Weather]) -> Table:
    """The result as people read it."""
    result = Table(title="Storm")
    for heading in ("store", "workers", "journals", "kills", "emails", "sent", "held in doubt", "second copies"):
        result.add_column(heading, justify="left" if heading in ("store", "journals") else "right")
    for heading in ("lost", "unrecorded copies", "copies despite hold"):
        result.add_column(heading, justify="right", style="bold")
    for sky in skies:
        tally = sky.tally
        figures = (tally.emails, tally.sent, tally.held, tally.second_copies, tally.lost, tally.unrecorded)
        result.add_row(
            sky.store,
            str(sky.workers),
            sky.journals,
            str(sky.kills.total()),
            *map(str, figures),
            str(tally.despite_hold),
        )
    return result


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.worker.storm", description="Kill workers, count copies.")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=None, help="to repeat the same choices (not the same timing)")
    arguments = parser.parse_args()
    seed = random.SystemRandom().getrandbits(32) if arguments.seed is None else arguments.seed
    console = Console(width=140)
    console.print(f"seed {seed}")
    skies = storm(arguments.kills, seed, console)
    console.print(table(skies))
    manners = sum((sky.kills for sky in skies), Counter[str]())
    console.print("kills by manner: " + ", ".join(f"{name} {manners[name]}" for name in sorted(manners)))
    return 1 if any(sky.tally.violations for sky in skies) else 0


if __name__ == "__main__":
    sys.exit(main())

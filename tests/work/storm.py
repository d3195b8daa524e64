"""The long form of the crash suite: a thousand and more kills, and a count of every copy.

    python -m tests.work.storm --kills 1000
    python -m tests.work.storm --kills 300 --broker

Rounds on SQLite and on PostgreSQL in turns, with one worker and one application that sends inline, and with four and
three. In each round they die and are replaced while emails keep coming: at a named place of their own, at a moment of
the conversation that the server chooses, at random, or stopped past their lease and then killed or let go on. Callers
stop waiting for their applications' sends, forked children are killed under their parents, and some applications are
told to close in the middle of it. In some rounds each process keeps its journal where nobody else can read it, as on
machines of their own. Now and then the mail server is down for a moment, and a second one takes the mail: the route
falls back. At the end of a round healthy workers finish what is left, and every copy is counted at both servers.

With `--broker` schedulers and senders die instead, and RabbitMQ between them: it is killed, emptied, cut off, its
queues are purged, its messages copied and shuffled.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from postroom import Outbox
from postroom.testing import ScriptedSmtp
from tests.broker.gale import brokered_round
from tests.servers.postgres import PostgresServer
from tests.servers.postgres import server as postgres_server
from tests.servers.rabbitmq_node import RabbitNode
from tests.work.nursery import Nursery
from tests.work.office import Office
from tests.work.rounds import Round, Weather

KILLS_PER_ROUND = 24
MOST_ACCUSATIONS = 10


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


def skies(*, broker: bool) -> list[Weather]:
    """Every kind of round."""
    staffs = ((1, 1, 1), (2, 3, 2)) if broker else ((0, 1, 1), (0, 4, 3))
    return [
        Weather(store=store, schedulers=schedulers, workers=workers, applications=applications, journals=journals)
        for journals in ("shared", "apart")
        for schedulers, workers, applications in staffs
        for store in ("sqlite", "postgres")
    ]


def storm(kills: int, seed: int, console: Console, *, broker: bool) -> list[Weather]:
    """Round after round until so many workers have been killed."""
    kinds, dice, done = skies(broker=broker), random.Random(seed), 0
    with ExitStack() as stack:
        postgres = stack.enter_context(postgres_server())
        node = stack.enter_context(RabbitNode.create()) if broker else None
        nursery = Nursery()
        stack.callback(nursery.close)
        progress = stack.enter_context(Progress(console=console))
        task = progress.add_task("kills", total=kills)
        while done < kills:
            weather = min(kinds, key=lambda kind: kind.kills.total())
            done += _one_round(weather, postgres, node, nursery, dice, console)
            progress.update(task, completed=done)
    return kinds


def _one_round(
    weather: Weather,
    postgres: PostgresServer,
    node: RabbitNode | None,
    nursery: Nursery,
    dice: random.Random,
    console: Console,
) -> int:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="postroom-storm-")))
        server, backup = stack.enter_context(ScriptedSmtp()), stack.enter_context(ScriptedSmtp())
        url = stack.enter_context(outbox_on(weather.store, postgres, folder))
        one: Round
        if node is not None:
            one = stack.enter_context(brokered_round(url, server, backup, folder, nursery, node, weather, dice))
        else:
            office = stack.enter_context(Office(url, server, folder, nursery, backup=backup))
            one = Round(office, weather, folder, dice)
        one.rage(KILLS_PER_ROUND)
        tally = one.tally()
        console.print(f"{weather.name}: {tally}")
        for error, count in one.complaints().most_common(5):
            console.print(f"{count} × an application: {error}", markup=False)
        for line in islice(one.accusations(), MOST_ACCUSATIONS) if tally.violations else ():
            console.print(line, style="red", markup=False)
    weather.kills += one.kills
    weather.tally += tally
    return one.kills.total()


def table(kinds: list[Weather], *, broker: bool) -> Table:
    """The result as people read it."""
    result = Table(title="Storm")
    for heading in (
        "store",
        "schedulers × senders" if broker else "workers",
        "inline senders",
        "journals",
        "kills",
        "emails",
        "sent inline",
        "sent",
        "by the fallback",
        "held in doubt",
        "second copies",
    ):
        result.add_column(heading, justify="left" if heading in ("store", "journals") else "right")
    for heading in ("lost", "unrecorded copies", "copies despite hold", "other faults"):
        result.add_column(heading, justify="right", style="bold")
    for sky in kinds:
        tally = sky.tally
        counted = (tally.emails, tally.inline, tally.sent, tally.fallen_back, tally.held, tally.second_copies)
        wrong = (tally.lost, tally.unrecorded, tally.despite_hold, tally.other_faults)
        figures = map(str, (sky.kills.total(), *counted, *wrong))
        result.add_row(sky.store, sky.staff, str(sky.applications), sky.journals, *figures)
    return result


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.work.storm", description="Kill workers and applications, count copies."
    )
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=None, help="to repeat the same choices (not the same timing)")
    parser.add_argument(
        "--broker", action="store_true", help="over RabbitMQ: kill schedulers, senders, applications and the broker"
    )
    arguments = parser.parse_args()
    seed = random.SystemRandom().getrandbits(32) if arguments.seed is None else arguments.seed
    console = Console(width=180)
    console.print(f"seed {seed}")
    kinds = storm(arguments.kills, seed, console, broker=arguments.broker)
    console.print(table(kinds, broker=arguments.broker))
    manners = sum((kind.kills for kind in kinds), Counter[str]())
    console.print("kills by manner: " + ", ".join(f"{name} {manners[name]}" for name in sorted(manners)))
    return 1 if any(kind.tally.violations for kind in kinds) else 0


if __name__ == "__main__":
    sys.exit(main())

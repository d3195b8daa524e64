"""The outbox as one picture on a terminal: counts and rates, workers, ways out."""

from __future__ import annotations

from collections.abc import Mapping

from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from postroom.cli.broker import broker_lines
from postroom.cli.moments import exact, relative
from postroom.cli.tables import TONES, bare_table, counts_table, routes_table
from postroom.operate.values import Standing

MOST_WORKERS = 12
"""Lines for workers; a screen has room for few more."""

Rates = Mapping[str, float | None]
"""How often each thing happened in a second; None while nobody knows."""


def picture(standing: Standing, *, rates: Rates) -> RenderableType:
    """Everything at a glance."""
    parts: list[RenderableType] = [
        _heading(standing),
        Columns([counts_table(standing.counts), happenings_table(standing, rates)], padding=(0, 6)),
        workers_table(standing) if standing.workers else Text("No worker has signed on.", style="bold red"),
    ]
    if standing.broker is not None:
        parts.append(broker_lines(standing))
    if standing.routes:
        parts.append(routes_table(standing.routes))
    parts.append(Text("q ends", style="dim"))
    return Group(*(Padding(part, (0, 0, 1, 1)) for part in parts))


def happenings_table(standing: Standing, rates: Rates) -> Table:
    """What has happened, in all and per second."""
    table = bare_table("happened", "in all", "per second")
    for column in table.columns[1:]:
        column.justify = "right"
    for name, total in standing.totals.items():
        rate = rates[name]
        style = "" if total else "dim"
        shown = "" if rate is None else f"{rate:,.1f}"
        table.add_row(Text(name.replace("_", " "), style=style), Text(f"{total:,}", style=style), Text(shown))
    return table


def workers_table(standing: Standing) -> Table:
    """Who works here, the one heard of last first."""
    table = bare_table("worker", "role", "heard of", "in flight", "per second")
    for worker in standing.heard_last_first[:MOST_WORKERS]:
        style = "" if worker.alive else "dim"
        seen = worker.seen
        heard_of = relative(seen.seen_at, now=standing.at)
        table.add_row(
            Text(seen.name), Text(seen.role), Text(heard_of), str(seen.in_flight), f"{seen.rate:,.1f}", style=style
        )
    if len(standing.workers) > MOST_WORKERS:
        table.add_row(Text(f"and {len(standing.workers) - MOST_WORKERS} more", style="dim"))
    return table


def _heading(standing: Standing) -> Text:
    waits = relative(standing.oldest_due, now=standing.at)
    due = f"oldest due: {waits}" if waits else "nothing is due"
    return Text.assemble(
        ("Postroom", "bold"), f"   {exact(standing.at)}   {due}\n", (standing.sentence, TONES[standing.tone])
    )

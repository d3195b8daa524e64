"""The broker at a terminal: its state in a sentence, who is at work, and what waits in the queues."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from postroom.cli.tables import bare_table
from postroom.operate.broker import BrokerView, at_work, state_of, waiting_in


def broker_lines(broker: BrokerView, counts: Mapping[str, int], *, now: datetime) -> RenderableType:
    """What schedulers and senders say; the queues only where something is in them."""
    sentence = state_of(broker, waiting=waiting_in(counts), now=now)
    parts: list[RenderableType] = [
        Text(
            sentence, style="bold red" if broker.away or broker.blocked or broker.refused or not broker.at_work else ""
        ),
        Text(f"{at_work(broker)[0].upper()}{at_work(broker)[1:]}."),
    ]
    if broker.waiting or any(broker.dead_letters.values()):
        parts.append(_queues_table(broker))
    return Group(*parts)


def _queues_table(broker: BrokerView) -> Table:
    table = bare_table("queue", "messages")
    table.columns[1].justify = "right"
    for queue, count in (*broker.depths.items(), *broker.dead_letters.items()):
        table.add_row(Text(queue), Text(f"{count:,}", style="" if count else "dim"))
    return table

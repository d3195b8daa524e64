"""The broker at a terminal: its state in a sentence, who is at work, and what waits in the queues."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from postroom.cli.tables import bare_table
from postroom.operate.broker import BrokerView, at_work
from postroom.operate.values import House


def broker_lines(house: House) -> RenderableType:
    """What schedulers and senders say; the queues only where something is in them. Nothing where there are none."""
    if (broker := house.broker) is None:
        return Text("")
    well = broker.state in ("connected", "connecting")
    parts: list[RenderableType] = [
        Text(house.broker_sentence, style="" if well else "bold red"),
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

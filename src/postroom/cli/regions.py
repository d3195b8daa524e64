"""Regions: region list, move."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import typer
from rich.table import Table
from rich.text import Text

from postroom.cli.choice import Json
from postroom.cli.command import command
from postroom.cli.everywhere import every_region
from postroom.cli.moments import relative
from postroom.cli.problems import ExitCode
from postroom.cli.reaching import reach
from postroom.cli.region_moving import move
from postroom.cli.screen import print_json, standard_output
from postroom.cli.secrets import masked
from postroom.cli.tables import TONES, bare_table, state_of
from postroom.cli.target import Target
from postroom.config import Settings
from postroom.errors import ConfigurationError, PostroomError
from postroom.operate.records import house_record
from postroom.operate.regions import PATIENCE, Reach, RegionView, look_around
from postroom.operate.values import House
from postroom.operate.wording import count_of
from postroom.regions import AsyncRegions
from postroom.store.open import open_database
from postroom.vocabulary import Status


def list_regions(target: Target, json: Json = False) -> None:
    """Every region: its emails by status, its ways out, whether somebody works there; or why it cannot be reached."""
    tell_all(look_at_all(every_region(target)), json=json)


def look_at_all(shared: Settings) -> tuple[RegionView, ...]:
    """Every region, at the same time, and what stands in the way where one cannot be reached."""
    return asyncio.run(_looked_at(shared))


async def _looked_at(shared: Settings) -> tuple[RegionView, ...]:
    """Those who do not answer a knock are not looked at: a pool would try for long, and not say what was wrong."""
    knocks = {name: asyncio.to_thread(_knock, shared, name) for name in shared.regions}
    unreached = dict(zip(knocks, await asyncio.gather(*knocks.values()), strict=True))
    async with AsyncRegions.from_settings(shared) as regions:
        reached = await look_around(regions, [name for name, view in unreached.items() if view is None])
    found = {view.name: view for view in (*reached, *filter(None, unreached.values()))}
    return tuple(found[name] for name in shared.regions)


def _knock(shared: Settings, name: str) -> RegionView | None:
    """What stands in the way of this region; None where nothing does."""
    try:
        settings = shared.of_region(name)
        database = open_database(settings.database.get_secret_value(), tables=settings.tables)
    except ConfigurationError as error:
        return RegionView(name=name, reach=Reach.UNKNOWN, reason=str(error))
    try:
        reach(database, patience=PATIENCE)
    except ConfigurationError as error:
        return RegionView(name=name, reach=Reach.UNREADY, reason=str(error))
    except PostroomError as error:
        return RegionView(name=name, reach=Reach.AWAY, reason=str(error))
    finally:
        database.close()
    return None


def tell_all(views: Sequence[RegionView], *, json: bool) -> None:
    """All of them; the exit code says whether every one that this machine knows could be reached."""
    if json:
        print_json({"regions": [region_record(view) for view in views]})
    else:
        _print(views)
    if any(view.reach is Reach.AWAY for view in views):
        raise typer.Exit(int(ExitCode.UNREACHABLE))


def region_record(view: RegionView) -> dict[str, Any]:
    """A region in JSON's types: what `stats` tells of an outbox, or why it cannot be told."""
    told: dict[str, Any] = {"name": view.name, "reach": view.reach, "reason": masked(view.reason) or None}
    return told if view.house is None else told | house_record(view.house)


def _print(views: Sequence[RegionView]) -> None:
    output = standard_output()
    output.print(_table([view for view in views if view.house is not None]))
    for view in views:
        if view.house is None:
            style = "bold red" if view.reach is Reach.AWAY else "yellow"
            output.print(Text(f"{view.name}: {masked(view.reason)}", style=style), soft_wrap=True)


_SHOWN = (Status.PENDING, Status.QUEUED, Status.SENDING, Status.RETRYING, Status.IN_DOUBT, Status.SENT, Status.DEAD)


def _table(views: Sequence[RegionView]) -> Table:
    table = bare_table("region", *_SHOWN, "oldest due", "at work", "ways out", "state")
    for column in table.columns[1 : len(_SHOWN) + 1]:
        column.justify = "right"
    for view in views:
        assert view.house is not None
        table.add_row(view.name, *_cells(view.house))
    return table


def _cells(house: House) -> list[Text | str]:
    counts = [Text(f"{house.counts.get(each, 0):,}", style="" if house.counts.get(each) else "dim") for each in _SHOWN]
    ways_out = ", ".join(f"{route.name}: {state_of(route)}" for route in house.routes) or "–"
    return [
        *counts,
        relative(house.oldest_due, now=house.at) or "–",
        count_of(len(house.alive), "process") if house.alive else "nobody",
        Text(ways_out),
        Text(house.tone, style=TONES[house.tone]),
    ]


COMMANDS: dict[str, Callable[..., None]] = {"list": list_regions, "move": move}

app = typer.Typer(help="Regions: how each of them is doing.", no_args_is_help=True)


for command_name, function in COMMANDS.items():
    app.command(command_name)(command(function))

"""One command for every region, one after the other; trouble in one keeps nobody from the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer
from rich.text import Text

from postroom.cli.problems import told_plainly
from postroom.cli.screen import standard_output
from postroom.cli.target import Target
from postroom.config import Settings
from postroom.errors import ConfigurationError

AllRegions = Annotated[bool, typer.Option("--all-regions", help="For every region of the settings.")]


def every_region(target: Target) -> Settings:
    """What all regions share, with their tables: there are some, and nobody has asked for a single one."""
    if target.region is not None or target.database is not None:
        said = "--region" if target.region is not None else "--database"
        raise ConfigurationError(f"--all-regions and {said} exclude each other; choose one")
    settings = target.all_regions()
    if not settings.regions:
        raise ConfigurationError("no regions are known; name them in the settings, as [regions.deu1] database = …")
    return settings


def in_each_region(target: Target, act: Callable[[Target], None]) -> None:
    """Do it in every region, under its name. The exit code is the greatest of those that each alone would have had."""
    worst = 0
    for name in every_region(target).regions:
        standard_output().print(Text(name, style="bold"))
        try:
            with told_plainly():
                act(target.of_region(name))
        except typer.Exit as ended:
            worst = max(worst, ended.exit_code)
    if worst:
        raise typer.Exit(worst)

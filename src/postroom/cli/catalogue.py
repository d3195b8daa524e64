"""The list of commands, which `postroom --help` prints without importing any of them.

A command is imported when it is called, with all that it works with; what the list says of it stands in `app.py`, and
is the first paragraph of its own help: `tests/cli/test_catalogue.py` compares them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from postroom.cli.command import command
from postroom.cli.problems import told_plainly


@dataclass(frozen=True, slots=True)
class Outline:
    """A command, or a group of them, as the list has it."""

    place: str
    """The function, or the group, by its module and name: `reading.show` is `show` of `postroom.cli.reading`."""
    help: str
    hidden: bool = False


class _FlagsSaidPlainly:
    """What is said by its name alone has no type to be shown beside it."""

    def get_params(self, ctx: Any) -> list[Any]:
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for each in params:
            if getattr(each, "is_flag", False):
                each.metavar = ""
        return params


class PlainCommand(_FlagsSaidPlainly, TyperCommand):
    """A command."""


class PlainGroup(_FlagsSaidPlainly, TyperGroup):
    """A group of commands."""


class Shelf(Mapping[str, Any]):
    """Commands by name; one that is taken from it is imported then."""

    def __init__(self, outlines: Mapping[str, Outline]) -> None:
        self._outlines = outlines

    def __iter__(self) -> Iterator[str]:
        return iter(self._outlines)

    def __len__(self) -> int:
        return len(self._outlines)

    def __getitem__(self, name: str) -> Any:
        outline = self._outlines[name]
        module, _, attribute = outline.place.partition(".")
        with told_plainly():  # a package that a command needs may not be installed
            found = getattr(import_module(f"postroom.cli.{module}"), attribute)
        loaded = _as_command(name, found)
        loaded.name, loaded.hidden = name, outline.hidden
        return loaded


def catalogue(outlines: Mapping[str, Outline]) -> type[TyperGroup]:
    """A group of these commands, for Typer to make."""

    class Catalogue(PlainGroup):
        def __init__(self, **given: Any) -> None:
            super().__init__(**given)
            self.commands = Shelf(outlines)  # type: ignore[assignment]

        def list_commands(self, ctx: Any) -> list[str]:
            return list(outlines)

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            """What the list needs to know of a command; whoever calls it is given the command itself, below."""
            if (outline := outlines.get(cmd_name)) is None:
                return None
            return TyperCommand(cmd_name, help=outline.help, hidden=outline.hidden)

        def resolve_command(self, ctx: Any, args: list[str]) -> Any:
            name, found, rest = super().resolve_command(ctx, args)
            return name, found and self.commands[str(name)], rest

    return Catalogue


def _as_command(name: str, found: typer.Typer | Callable[..., None]) -> Any:
    house = typer.Typer(add_completion=False)
    if isinstance(found, typer.Typer):
        for each in found.registered_commands:
            each.cls = PlainCommand
        house.add_typer(found, name=name, cls=PlainGroup)
        return get_command(house).commands[name]  # type: ignore[attr-defined]
    house.command(name, cls=PlainCommand)(command(found))
    return get_command(house)

"""A question before something that is not easily undone."""

from __future__ import annotations

import typer
from rich.text import Text

from postroom.cli.problems import ExitCode
from postroom.cli.screen import somebody_is_there, standard_error
from postroom.errors import ConfigurationError


def ask_first(what: str, *, instead: str = "add --yes to do it, or --dry-run to count only") -> None:
    """Let a person decide; where there is none, only `--yes` decides."""
    if not somebody_is_there():
        raise ConfigurationError(
            f"this would {what}, and there is nobody to ask: standard input is no terminal; {instead}"
        )
    ask_whether_to_go_on(what)


def ask_whether_to_go_on(what: str) -> None:
    """End the command here unless somebody says yes."""
    if not typer.confirm(f"This will {what}. Go on?", err=True):
        standard_error().print(Text("Nothing was changed."))
        raise typer.Exit(int(ExitCode.NOT_DONE))

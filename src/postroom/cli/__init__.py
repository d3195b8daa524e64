"""The command line: `postroom …`. One file for each group of commands; `app.py` puts them together."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """The console script."""
    from typer.main import get_command

    from postroom.cli.app import app
    from postroom.cli.tracebacks import mask_tracebacks

    mask_tracebacks()
    # Not `app(…)`, which would put Typer's own way of showing errors in the place of ours, passwords and all.
    get_command(app)(prog_name="postroom")

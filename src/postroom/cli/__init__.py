"""The command line: `postroom …`. One file for each group of commands; `app.py` puts them together."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """The console script."""
    from postroom.cli.app import app
    from postroom.cli.tracebacks import mask_tracebacks

    mask_tracebacks()
    app(prog_name="postroom")

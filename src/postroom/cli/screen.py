"""Standard output for results, standard error for everything else, and colours where somebody looks."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from rich.console import Console

_UNFOLDED = 200
"""The width of tables in a file or a pipe, where nothing needs to be cut to fit a screen."""


def standard_output() -> Console:
    """For what was asked for."""
    return _console(stderr=False)


def standard_error() -> Console:
    """For questions, progress and problems."""
    return _console(stderr=True)


def print_json(value: Any) -> None:
    """One JSON value and nothing else on standard output."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")
    sys.stdout.flush()  # a reader who has gone is noticed here, where it can be dealt with


def somebody_is_there() -> bool:
    """Whether questions can be asked and answered."""
    return sys.stdin.isatty()


def _console(*, stderr: bool) -> Console:
    console = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _UNFOLDED
    return console

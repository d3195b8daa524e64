"""The traceback of an error that nobody caught, without the secrets in it."""

from __future__ import annotations

import sys
import threading
import traceback
from types import TracebackType

from postroom.cli.secrets import masked


def mask_tracebacks() -> None:
    """Errors that nobody catches are printed as Python prints them, without passwords: here and in threads."""
    sys.excepthook = _print_masked
    threading.excepthook = lambda ended: _print_masked(
        ended.exc_type, ended.exc_value or ended.exc_type(), ended.exc_traceback
    )


def _print_masked(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not issubclass(kind, SystemExit):
        sys.stderr.write(masked("".join(traceback.format_exception(kind, error, trace))))

"""What is logged to standard error: on a terminal a line for people, elsewhere one JSON object a line.

Each object has `event`, `level` and `timestamp` beside its fields.

Secrets are masked in everything that is written here: events, their fields, and the tracebacks of errors.
"""

from __future__ import annotations

import logging
import os
import sys

import structlog

from postroom.cli.secrets import masked_value
from postroom.cli.target import LogFormat

_LIBRARIES = {
    "psycopg.pool": logging.ERROR,
    "asyncio": logging.ERROR,
}
"""They speak of retries that the command reports by itself when they matter."""


def write_logs(level: str, form: LogFormat | None = None) -> None:
    """Write everything from this level on to standard error. Called again, it starts over."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_formatter(form or (LogFormat.TEXT if sys.stderr.isatty() else LogFormat.JSON)))
    root = logging.getLogger()
    for former in [each for each in root.handlers if getattr(each, "of_postroom", False)]:
        root.removeHandler(former)
    handler.of_postroom = True  # type: ignore[attr-defined]
    root.addHandler(handler)
    root.setLevel(level.upper())
    for name, lowest in _LIBRARIES.items():
        logging.getLogger(name).setLevel(max(lowest, root.level))


def _formatter(form: LogFormat) -> structlog.stdlib.ProcessorFormatter:
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.stdlib.ExtraAdder(),
            _without_leftovers,
            *_timed(form),
            structlog.processors.format_exc_info,
        ],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            _without_passwords,
            *_written(form),
        ],
    )


def _timed(form: LogFormat) -> list[structlog.typing.Processor]:
    """A person looks at the clock on the wall; a program compares machines."""
    if form is LogFormat.TEXT:
        return [structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False)]
    return [structlog.processors.TimeStamper(fmt="iso", utc=True)]


def _written(form: LogFormat) -> list[structlog.typing.Processor]:
    if form is LogFormat.JSON:
        return [structlog.processors.JSONRenderer(ensure_ascii=False)]
    colours = sys.stderr.isatty() and "NO_COLOR" not in os.environ
    return [_without_our_name, structlog.dev.ConsoleRenderer(0, colors=colours, sort_keys=False)]


def _without_leftovers(logger: object, method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Without what another handler's formatter has left on the record: the same words once more."""
    return {name: value for name, value in event.items() if name not in ("message", "asctime")}


def _without_our_name(logger: object, method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    if event.get("logger") == "postroom":
        del event["logger"]
    return event


def _without_passwords(logger: object, method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    return {name: masked_value(value) for name, value in event.items()}

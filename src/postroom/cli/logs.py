"""What is logged, as JSON lines on standard error: one object a line, with `event`, `level` and `timestamp`.

Secrets are masked in everything that is written here: events, their fields, and the tracebacks of errors.
"""

from __future__ import annotations

import logging
import sys

import structlog

from postroom.cli.secrets import masked_value

_LIBRARIES = {
    "psycopg.pool": logging.ERROR,
    "asyncio": logging.ERROR,
}
"""They speak of retries that the command reports by itself when they matter."""


def write_logs(level: str) -> None:
    """Write everything from this level on to standard error. Called again, it starts over."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_formatter())
    root = logging.getLogger()
    for former in [each for each in root.handlers if getattr(each, "of_postroom", False)]:
        root.removeHandler(former)
    handler.of_postroom = True  # type: ignore[attr-defined]
    root.addHandler(handler)
    root.setLevel(level.upper())
    for name, lowest in _LIBRARIES.items():
        logging.getLogger(name).setLevel(max(lowest, root.level))


def _formatter() -> structlog.stdlib.ProcessorFormatter:
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.stdlib.ExtraAdder(),
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
        ],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            _without_passwords,
            structlog.processors.JSONRenderer(ensure_ascii=False),
        ],
    )


def _without_passwords(logger: object, method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    return {name: masked_value(value) for name, value in event.items()}

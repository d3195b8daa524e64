"""Logging: structlog's way of speaking, the standard library's way of being heard.

A library must not print by itself. Events go to the logger `postroom` with their fields as extras; the command line
turns them into JSON lines (`structlog.stdlib.ProcessorFormatter`). Addresses and secrets are never among the fields.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from structlog.stdlib import BoundLogger


class _WhenSpoken:
    """structlog's logger, made when the first event is told: most programs that enqueue never tell one, and structlog
    brings half of a terminal along."""

    def __getattr__(self, name: str) -> Any:
        method = getattr(_made(), name)
        if not name.startswith("_"):
            setattr(self, name, method)
        return method


def _made() -> BoundLogger:
    import structlog

    return cast(
        "BoundLogger",
        structlog.wrap_logger(
            logging.getLogger("postroom"),
            wrapper_class=structlog.stdlib.BoundLogger,
            processors=[
                structlog.stdlib.filter_by_level,
                structlog.processors.format_exc_info,
                structlog.stdlib.render_to_log_kwargs,
            ],
        ),
    )


logger = cast("BoundLogger", _WhenSpoken())

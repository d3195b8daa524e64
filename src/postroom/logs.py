"""Logging: structlog's way of speaking, the standard library's way of being heard.

A library must not print by itself. Events go to the logger `postroom` with their fields as extras; the command line
turns them into JSON lines (`structlog.stdlib.ProcessorFormatter`). Addresses and secrets are never among the fields.
"""

from __future__ import annotations

import logging

import structlog

logger: structlog.stdlib.BoundLogger = structlog.wrap_logger(
    logging.getLogger("postroom"),
    wrapper_class=structlog.stdlib.BoundLogger,
    processors=[
        structlog.stdlib.filter_by_level,
        structlog.processors.format_exc_info,
        structlog.stdlib.render_to_log_kwargs,
    ],
)

"""Logging: structlog's way of speaking, the standard library's way of being heard.

A library must not print by itself: unless the application has set logging up, nothing is written anywhere. Events go to
the logger `postroom`. The message of a record tells the event and its fields, so that `logging.basicConfig` shows which
email and why; the same fields are on the record, with `event`, for handlers that write JSON. Addresses and secrets are
never among them.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, MutableMapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from structlog.stdlib import BoundLogger

logging.getLogger("postroom").addHandler(logging.NullHandler())

speaking_region: ContextVar[str] = ContextVar("postroom_region", default="")
"""Whose events are told: what works for one region sets it, and every event of that work says so."""

_OF_THE_CALL = ("exc_info", "stack_info", "stacklevel")
"""What the standard library wants beside the fields."""


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
            processors=[structlog.stdlib.filter_by_level, _as_record],
        ),
    )


def in_words(event: str, fields: Mapping[str, Any]) -> str:
    """An event and its fields in one line: `email attempt failed (email_id=…, code=550)`."""
    told = ", ".join(f"{name}={value}" for name, value in fields.items())
    return f"{event} ({told})" if told else event


def _as_record(_logger: object, _method: str, fields: MutableMapping[str, Any]) -> dict[str, Any]:
    event = str(fields.pop("event"))
    if region := speaking_region.get():
        fields.setdefault("region", region)
    of_the_call = {name: fields.pop(name) for name in _OF_THE_CALL if name in fields}
    return {"msg": in_words(event, fields), "extra": {"event": event, **fields}, **of_the_call}


logger = cast("BoundLogger", _WhenSpoken())

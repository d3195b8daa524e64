"""Pages from templates: what every page is given, and how numbers and times read on it.

Everything is escaped unless a template says otherwise, and none does. A name that a template expects and does not get
is an error, not an empty place.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

from postroom.admin.conversations import conversation, reply_in_words
from postroom.admin.wording import (
    clock,
    counted,
    exact,
    iso,
    milliseconds,
    octets,
    policy_label,
    relative,
    span,
    status_label,
)
from postroom.operate.story import in_words
from postroom.operate.wording import count_of
from postroom.send.delivery_mode import Mode, mode_in, sentence_in


@cache
def environment() -> Environment:
    """The templates beside this module."""
    templates = Environment(
        loader=PackageLoader("postroom.admin"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {
        "clock": clock,
        "conversation": conversation,
        "count_of": count_of,
        "counted": counted,
        "exact": exact,
        "in_words": in_words,
        "iso": iso,
        "milliseconds": milliseconds,
        "octets": octets,
        "policy_label": policy_label,
        "relative": relative,
        "reply_in_words": reply_in_words,
        "span": span,
        "status_label": status_label,
    }
    return templates


def render(
    request: Request, template: str, *, status: int = 200, headers: Mapping[str, str] | None = None, **context: Any
) -> HTMLResponse:
    """A whole page. `person` is who is signed in, or None before that; `csrf` goes into every form."""
    common = {
        "root": request.scope.get("root_path", ""),
        "path": request.url.path,
        "now": datetime.now(UTC),
        "person": _visitor(request),
        "csrf": _csrf(request),
        "dev": bool(getattr(request.app.state, "dev", False)),
        "delivery": _delivery(request),
        "notice": None,
        "section": None,
    }
    page = environment().get_template(template).render(common | context)
    return HTMLResponse(page, status_code=status, headers={"Cache-Control": "no-store", **(headers or {})})


def _delivery(request: Request) -> tuple[str, str] | None:
    """The delivery mode and what it means, where it is another than to deliver."""
    settings = request.app.state.operations.outbox.settings
    mode = mode_in(settings.delivery)
    return None if mode == Mode.DELIVER else (mode, sentence_in(settings.delivery))


def _visitor(request: Request) -> Any:
    """Who was found to be signed in, if anybody was looked for: an error page keeps the menu."""
    return getattr(getattr(request.state, "visit", None), "person", None)


def _csrf(request: Request) -> str:
    from postroom.admin.security import csrf_token

    return csrf_token(request)

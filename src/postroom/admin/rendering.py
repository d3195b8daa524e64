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
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from postroom.accounts.telling import email_ids, particulars, sentence
from postroom.admin.campaign_places import segment
from postroom.admin.campaign_wording import ended_in_words, happened_detail, local_time
from postroom.admin.conversations import conversation, reply_in_words
from postroom.admin.economy import tag_of
from postroom.admin.notices import read_notice, without_notice
from postroom.admin.places import root_of
from postroom.admin.visit import known_visit
from postroom.admin.wording import (
    clock,
    counted,
    exact,
    iso,
    language_label,
    milliseconds,
    octets,
    policy_label,
    relative,
    span,
    status_label,
)
from postroom.campaigns.drafts.passing import passed_in_words
from postroom.gallery.wording import FILTERS
from postroom.operate.came_back import KINDS
from postroom.operate.happening_wording import title_of
from postroom.operate.returned import day_in_words, fate_in_words, kept_in_words
from postroom.operate.story import in_words
from postroom.operate.suppression_wording import REASONS, reason_in_words, stops_in_words
from postroom.operate.wording import count_of, refused_of
from postroom.send.delivery_mode import Mode, mode_in, sentence_in


@cache
def environment() -> Environment:
    """The templates beside this module, and those of the gallery."""
    templates = Environment(
        loader=ChoiceLoader([PackageLoader("postroom.admin"), PackageLoader("postroom.gallery")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {
        **FILTERS,
        "audited_emails": email_ids,
        "audited_particulars": particulars,
        "audited_sentence": sentence,
        "clock": clock,
        "conversation": conversation,
        "count_of": count_of,
        "counted": counted,
        "day_in_words": day_in_words,
        "ended_in_words": ended_in_words,
        "exact": exact,
        "fate_in_words": fate_in_words,
        "happened": title_of,
        "happened_detail": happened_detail,
        "in_words": in_words,
        "iso": iso,
        "kept_in_words": kept_in_words,
        "language_label": language_label,
        "local_time": local_time,
        "milliseconds": milliseconds,
        "octets": octets,
        "passed_in_words": passed_in_words,
        "policy_label": policy_label,
        "relative": relative,
        "refused_of": refused_of,
        "reason_in_words": reason_in_words,
        "reply_in_words": reply_in_words,
        "segment": segment,
        "span": span,
        "status_label": status_label,
        "stops_in_words": stops_in_words,
    }
    templates.globals["return_kinds"] = KINDS
    templates.globals["suppression_reasons"] = {reason.value: words for reason, words in REASONS.items()}
    return templates


def render(
    request: Request, template: str, *, status: int = 200, headers: Mapping[str, str] | None = None, **context: Any
) -> HTMLResponse:
    """A whole page. `person` is who is signed in, or None before that; `csrf` goes into every form."""
    common: dict[str, Any] = {
        "root": request.scope.get("root_path", ""),
        "this_page": without_notice(request.url.path, request.query_params),
        "now": datetime.now(UTC),
        "person": _visitor(request),
        "csrf": _csrf(request),
        "refreshing": is_refresh(request),
        "dev": bool(getattr(request.app.state, "dev", False)),
        "delivery": _delivery(request),
        "has_templates": bool(request.app.state.operations.outbox.settings.portals),
        "region": request.app.state.operations.outbox.settings.region,
        "regions": regions_path(request),
        "notice": read_notice(request.query_params) if _visitor(request) else None,
        "section": None,
    }
    page = environment().get_template(template).render(common | context)
    told = {"Cache-Control": "no-store", "ETag": _tag(request, page, common["csrf"]), **(headers or {})}
    return HTMLResponse(page, status_code=status, headers=told)


def regions_path(request: Request) -> str | None:
    """Where all regions are shown; None where this app is not one of theirs."""
    return root_of(request).rpartition("/")[0] if request.app.state.among_regions else None


def is_refresh(request: Request) -> bool:
    """Whether the page asks for itself again, to see what has changed."""
    return request.headers.get("x-postroom-refresh") == "1"


def _tag(request: Request, page: str, shown: str) -> str:
    """What names a page: all of it but the form's token, which is shown in other words each time."""
    visit = known_visit(request)
    return tag_of(page.replace(shown, "") if shown else page, visit.csrf if visit else "")


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

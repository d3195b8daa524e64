"""Pages from templates, in the look of the admin pages: everything escaped, every name that is missing an error."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from postroom.admin.wording import counted, exact, iso, octets, relative
from postroom.gallery.wording import FILTERS
from postroom.inbox.chaos import COUNTED, Trouble
from postroom.operate.wording import count_of

if TYPE_CHECKING:
    from postroom.inbox.server import DevInbox

SWITCHES: tuple[tuple[Trouble, str, str], ...] = (
    (Trouble.REFUSE, "Refuse connections", "As if the server were down."),
    (Trouble.TEMPORARY, "Refuse for now", "451 at the end of each message."),
    (Trouble.PERMANENT, "Refuse for good", "554 at the end of each message."),
    (Trouble.SLOW, "Be slow", "Every reply takes its time."),
    (Trouble.DROP, "Hang up after the dot", "The message is kept, and the sender never hears so."),
)
"""The troubles as the page offers them."""


_ADDRESS = re.compile(r"""https?://[^\s<>"]*[^\s<>"'.,;:!?()\[\]{}«»]""")
"""Of a page, without what ends the sentence around it."""
_LINK = Markup('<a href="{0}" target="_blank" rel="noopener noreferrer">{0}</a>')


@cache
def environment() -> Environment:
    """The templates beside this module, and those of the gallery."""
    templates = Environment(
        loader=ChoiceLoader([PackageLoader("postroom.inbox"), PackageLoader("postroom.gallery")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {
        **FILTERS,
        "counted": counted,
        "exact": exact,
        "iso": iso,
        "linked": linked,
        "octets": octets,
        "opening": opening,
        "plural": count_of,
        "relative": relative,
    }
    return templates


def opening(document: str) -> str:
    """A document whose links open windows of their own, which the frame around it must allow."""
    return document.replace("<head>", '<head><base target="_blank">', 1)


def linked(text: str) -> Markup:
    """A text whose addresses of pages can be followed, as mail programs show it; everything else is escaped."""
    parts: list[Markup] = []
    end = 0
    for found in _ADDRESS.finditer(text):
        parts += [escape(text[end : found.start()]), _LINK.format(found[0])]
        end = found.end()
    return Markup("").join([*parts, escape(text[end:])])


def render(
    request: Request, template: str, *, status: int = 200, headers: Mapping[str, str] | None = None, **context: Any
) -> HTMLResponse:
    """A whole page, with the state of the chaos switches."""
    inbox: DevInbox = request.app.state.inbox
    common = {
        "now": datetime.now(UTC),
        "inbox": inbox,
        "chaos": inbox.chaos.state(),
        "switches": SWITCHES,
        "counted_troubles": COUNTED,
        "here": request.url.path + (f"?{request.url.query}" if request.url.query else ""),
        "words": "",
        "live": False,
        "section": "mail",
    }
    page = environment().get_template(template).render(common | context)
    return HTMLResponse(page, status_code=status, headers=headers)

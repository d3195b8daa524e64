"""A template's HTML as a frame shows it: as it is, its own pictures within it, and nothing from anywhere else.

The walls are those of the frame and of the answer's own headers: no scripts, no forms, no requests. The document stays
of our origin, without which the page around it could not learn how tall it is; without scripts it can do nothing with
that. It is not cleaned as a stranger's mail would be, for its style sheets are what is to be seen.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable

from postroom.compose import Attachment
from postroom.gallery.scheme import in_scheme

SANDBOX = "allow-same-origin"
HEADERS = {
    "Content-Security-Policy": f"sandbox {SANDBOX}; default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "font-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'",
    "X-Frame-Options": "SAMEORIGIN",
    "Cache-Control": "no-store",
}
_PICTURE = re.compile(r"cid:([^\s\"'<>)]+)")
_TO_NOWHERE = '<base target="_blank">'
"""A link opens a window, which the frame does not allow: nobody leaves the gallery by accident."""


def document_of(html: str, pictures: Iterable[Attachment], scheme: str) -> str:
    """What the frame loads."""
    known = {each.content_id: _data(each) for each in pictures if each.content_id}
    shown = _PICTURE.sub(lambda found: known.get(found[1], found[0]), html)
    return _within_head(in_scheme(shown, scheme), _TO_NOWHERE)


def _data(picture: Attachment) -> str:
    return f"data:{picture.content_type};base64,{b64encode(picture.content).decode()}"


def _within_head(html: str, element: str) -> str:
    head = re.search(r"<head\b[^>]*>", html, re.IGNORECASE)
    return html[: head.end()] + element + html[head.end() :] if head else element + html

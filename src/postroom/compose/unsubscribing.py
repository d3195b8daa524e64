"""The way out of a list, as an email bears it: two headers (RFC 2369, RFC 8058), and a link in its words.

Which link that is, is known only when an email is enqueued, or later still where its words are. Until then
`UNSUBSCRIBE_URL` stands in its place: an address that is one to whatever looks at links on the way, such as the
inliner of styles or what derives a text from HTML, and that can lead nowhere (RFC 2606).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

UNSUBSCRIBE_URL = "https://unsubscribe.invalid/"
"""What a text or an HTML says where the reader's own link belongs. Templates know it as `unsubscribe_url`."""

LIST_UNSUBSCRIBE, LIST_UNSUBSCRIBE_POST = "List-Unsubscribe", "List-Unsubscribe-Post"
ONE_CLICK = "List-Unsubscribe=One-Click"
PLACE = "/u/"
"""What stands between the address of the web app and the token of a link."""

_OURS = re.compile(rf"<(https?://[^<>\s]+{PLACE}[A-Za-z0-9_-]{{40,}})>")


def headers_for(link: str) -> tuple[tuple[str, str], ...]:
    """The pair, each on one line: a link has no space at which it could be folded."""
    return (LIST_UNSUBSCRIBE, f"<{link}>"), (LIST_UNSUBSCRIBE_POST, ONE_CLICK)


def link_in(headers: Iterable[tuple[str, str]]) -> str | None:
    """The link that such a pair names; None where there is none, or one of the caller's own."""
    written = dict(headers)
    found = _OURS.fullmatch(written.get(LIST_UNSUBSCRIBE, ""))
    return found[1] if found and written.get(LIST_UNSUBSCRIBE_POST) == ONE_CLICK else None


def filled(words: str | None, link: str) -> str | None:
    """Words with the link in its place. No character of a link needs to be escaped, in HTML or in a text."""
    return None if words is None else words.replace(UNSUBSCRIBE_URL, link)

"""Where the HTML leads to, and whether somebody who reads the text gets there too."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import unescape

_LINK = re.compile(r'<a\s(?:[^">]|"[^"]*")*?\bhref="([^"]*)"', re.IGNORECASE)
_LEADING = ("http:", "https:", "mailto:", "tel:")


def links_in(html: str) -> tuple[str, ...]:
    """The addresses of links in a page as the inliner writes it, each once, as they stand there."""
    return tuple(dict.fromkeys(_LINK.findall(html)))


def without_twin(links: Iterable[str], text: str) -> str | None:
    """The first that leads out of the page and is not in the text; None where all are. A number needs no `tel:`."""
    for link in links:
        meant = unescape(link)
        if meant.lower().startswith(_LEADING) and meant not in text and not _named(meant, text):
            return meant
    return None


def _named(link: str, text: str) -> bool:
    scheme, _, rest = link.partition(":")
    return scheme.lower() in ("mailto", "tel") and rest.partition("?")[0] in text

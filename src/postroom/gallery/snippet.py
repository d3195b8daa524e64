"""What an inbox shows beside the subject: how the HTML begins, its hidden preheader first."""

from __future__ import annotations

import re
from html import unescape

LONGEST = 160
_UNSEEN = re.compile(r"<!--.*?-->|<(head|style|script|title)\b.*?</\1\s*>", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_FILLING = re.compile("[\\s\u00a0\u00ad\u034f\u061c\u115f\u200b-\u200f\u2007\u2060\ufeff]+")
"""What templates put behind a preheader so that nothing else follows it, and any other space."""


def snippet_of(html: str) -> str:
    """One line, as long as an inbox would show at most."""
    words = _FILLING.sub(" ", unescape(_TAG.sub(" ", _UNSEEN.sub(" ", html)))).strip()
    return words if len(words) <= LONGEST else words[: LONGEST - 1].rstrip() + "…"

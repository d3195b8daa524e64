"""Somebody else's text, made safe to look at: every character that is there is seen, and none does anything. Pure."""

from __future__ import annotations

import unicodedata

_JOINERS = frozenset("\u200c\u200d")
"""Without them some scripts, and many emoji, fall to pieces; they change the order of nothing."""


def visible(text: str) -> str:
    """The text with its lines; what a terminal or a browser would obey is a replacement character.

    So is what would turn the direction of what follows, and what is not to be seen at all.
    """
    return "".join(map(_seen, text.replace("\r\n", "\n")))


def _seen(character: str) -> str:
    if character.isprintable() or character in "\n\t" or character in _JOINERS:
        return character
    return " " if unicodedata.category(character) == "Zs" else "\N{REPLACEMENT CHARACTER}"

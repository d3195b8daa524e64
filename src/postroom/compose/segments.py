"""How many segments a text message is sent in, which is what it costs.

In the alphabet of GSM 03.38 a segment holds 160 characters, or 153 where there are several of them (the rest tells the
phone how to join them); the characters of its extension table count as two, which may not be torn apart. Any other
character makes the whole text UCS-2: 70 or 67 units of UTF-16, and a pair of surrogates is not torn apart either.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

_BASIC = frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿"
    "abcdefghijklmnopqrstuvwxyzäöñüà"
)
_EXTENSION = frozenset("\f^{}\\[~]|€")
_ALPHABET = _BASIC | _EXTENSION


@dataclass(frozen=True, slots=True)
class Segments:
    """How a text travels."""

    count: int
    alphabet: str
    """`GSM-7` or `UCS-2`."""
    units: int
    """Characters as the alphabet counts them."""


def segments_of(text: str) -> Segments:
    """Count them; an empty text has none."""
    if _ALPHABET.issuperset(text):
        return _counted("GSM-7", [2 if character in _EXTENSION else 1 for character in text], alone=160, joined=153)
    return _counted("UCS-2", [2 if ord(character) > 0xFFFF else 1 for character in text], alone=70, joined=67)


def _counted(alphabet: str, sizes: list[int], *, alone: int, joined: int) -> Segments:
    units = sum(sizes)
    count = min(units, 1) if units <= alone else _filled(sizes, joined)
    return Segments(count, alphabet, units)


def _filled(sizes: Iterable[int], room: int) -> int:
    count, used = 1, 0
    for size in sizes:
        if used + size > room:
            count, used = count + 1, 0
        used += size
    return count

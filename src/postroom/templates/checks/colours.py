"""Colours as styles write them, and how well one can be read on another."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_HEX = re.compile(r"#([0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})")
_RGB = re.compile(r"rgba?\(([^)]*)\)")
_NAMED = {
    "aqua": "#00ffff", "beige": "#f5f5dc", "black": "#000000", "blue": "#0000ff", "brown": "#a52a2a",
    "coral": "#ff7f50", "crimson": "#dc143c", "cyan": "#00ffff", "darkblue": "#00008b", "darkgray": "#a9a9a9",
    "darkgreen": "#006400", "darkgrey": "#a9a9a9", "darkred": "#8b0000", "dimgray": "#696969", "dimgrey": "#696969",
    "fuchsia": "#ff00ff", "gold": "#ffd700", "gray": "#808080", "green": "#008000", "grey": "#808080",
    "indigo": "#4b0082", "ivory": "#fffff0", "lightblue": "#add8e6", "lightgray": "#d3d3d3", "lightgreen": "#90ee90",
    "lightgrey": "#d3d3d3", "lightyellow": "#ffffe0", "lime": "#00ff00", "linen": "#faf0e6", "magenta": "#ff00ff",
    "maroon": "#800000", "midnightblue": "#191970", "navy": "#000080", "olive": "#808000", "orange": "#ffa500",
    "orangered": "#ff4500", "pink": "#ffc0cb", "purple": "#800080", "red": "#ff0000", "royalblue": "#4169e1",
    "salmon": "#fa8072", "seagreen": "#2e8b57", "silver": "#c0c0c0", "slateblue": "#6a5acd", "slategray": "#708090",
    "slategrey": "#708090", "snow": "#fffafa", "steelblue": "#4682b4", "teal": "#008080", "tomato": "#ff6347",
    "transparent": "#00000000", "turquoise": "#40e0d0", "violet": "#ee82ee", "wheat": "#f5deb3", "white": "#ffffff",
    "whitesmoke": "#f5f5f5", "yellow": "#ffff00",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Colour:
    """Red, green and blue from 0 to 255, and how much of it covers what is behind, from 0 to 1."""

    red: float
    green: float
    blue: float
    covers: float = 1.0

    def __str__(self) -> str:
        return "#" + "".join(f"{round(each):02x}" for each in (self.red, self.green, self.blue))

    def over(self, behind: Colour) -> Colour:
        """What is seen of it on another."""
        mine, rest = self.covers, 1 - self.covers
        return Colour(
            self.red * mine + behind.red * rest,
            self.green * mine + behind.green * rest,
            self.blue * mine + behind.blue * rest,
        )


BLACK, WHITE, LINK = Colour(0, 0, 0), Colour(255, 255, 255), Colour(0, 0, 238)


@lru_cache(maxsize=1024)
def colour_of(text: str) -> Colour | None:
    """A colour from its spelling; None for what is none that is known here."""
    text = text.strip().lower()
    text = _NAMED.get(text, text)
    if found := _HEX.fullmatch(text):
        digits = found[1] if len(found[1]) > 4 else "".join(each * 2 for each in found[1])
        red, green, blue, covers = (int(digits[at : at + 2] or "ff", 16) for at in (0, 2, 4, 6))
        return Colour(red, green, blue, covers / 255)
    if found := _RGB.fullmatch(text):
        return _from_numbers(re.split(r"[\s,/]+", found[1].strip()))
    return None


def _from_numbers(parts: list[str]) -> Colour | None:
    if len(parts) not in (3, 4):
        return None
    try:
        red, green, blue = (_number(part, 255) for part in parts[:3])
        return Colour(red, green, blue, _number(parts[3], 1) if len(parts) == 4 else 1.0)
    except ValueError:
        return None


def _number(text: str, whole: float) -> float:
    found = float(text[:-1]) / 100 * whole if text.endswith("%") else float(text)
    return min(max(found, 0.0), whole)


def contrast(one: Colour, other: Colour) -> float:
    """From 1, which nobody can read, to 21: the ratio of WCAG 2."""
    brighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


def _luminance(colour: Colour) -> float:
    red, green, blue = (_linear(each / 255) for each in (colour.red, colour.green, colour.blue))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(share: float) -> float:
    return share / 12.92 if share <= 0.04045 else float(((share + 0.055) / 1.055) ** 2.4)

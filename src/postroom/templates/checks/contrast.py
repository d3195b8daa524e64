"""Whether what is written can be read: WCAG AA, on light screens and on dark ones.

Each text is measured against the nearest background behind it. Where that is a picture or a gradient nobody can tell,
and nothing is said; nor on a dark screen where a page paints no background and does not say `color-scheme: dark`, for
some mail programs then show it on white. What is hidden on purpose (a preheader) is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from postroom.templates.checks.colours import BLACK, LINK, WHITE, Colour, colour_of, contrast
from postroom.templates.checks.finding import Finding, Place
from postroom.templates.checks.page import Element, Page
from postroom.templates.checks.styles import Rule, dark_rules, styled

ENOUGH, ENOUGH_IF_LARGE = 4.5, 3.0
_LARGE, _LARGE_IF_BOLD = 24.0, 18.66
"""Pixels: 18 and 14 points."""
_UNSEEN = frozenset(("head", "style", "script", "title", "template"))
_BOLD = frozenset(("b", "strong", "th", "h1", "h2", "h3", "h4", "h5", "h6"))
_SIZES = {"h1": 32.0, "h2": 24.0, "h3": 18.72, "small": 13.33}
_SIZE = re.compile(r"(\d*\.?\d+)(px|pt|em|rem|%)")
_PIXELS = {"px": 1.0, "pt": 4 / 3, "rem": 16.0}
_MOST_RULES = 500
"""Of dark screens: no stylesheet needs more, and each is tried on every element."""
_NOTHING = re.compile(r"0+(?:\.0*)?(?:px|pt|em|%)?")
_SCHEME = re.compile(r"(?<!-)\bcolor-scheme\s*:[^;}]*\bdark\b", re.IGNORECASE)
_DARK_CANVAS = Colour(18, 18, 18)
_PICTURE = re.compile(r"(?:url|gradient)\(|image", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """How a text looks where it stands."""

    colour: Colour = BLACK
    background: Colour | None = WHITE
    """None for what is behind it and has no one colour."""
    size: float = 16.0
    is_bold: bool = False

    @property
    def wanted(self) -> float:
        large = self.size >= (_LARGE_IF_BOLD if self.is_bold else _LARGE)
        return ENOUGH_IF_LARGE if large else ENOUGH

    @property
    def measured(self) -> float | None:
        if self.background is None:
            return None
        return contrast(self.colour.over(self.background), self.background)


def check_contrast(place: Place, page: Page) -> Iterator[Finding]:
    """Texts that are too like what is behind them, each pair of colours once."""
    yield from _check(place, page, [], _Look(), "")
    if rules := dark_rules(page.styles())[:_MOST_RULES]:
        canvas = _DARK_CANVAS if _is_said_to_be_dark(page) else None
        yield from _check(place, page, rules, _Look(colour=WHITE, background=canvas), " on a dark screen")


def _is_said_to_be_dark(page: Page) -> bool:
    """Whether it leaves its canvas to a dark screen."""
    said = (each.attributes.get("content", "") for each in page.elements("meta") if _is_scheme(each))
    styles = [page.styles(), *(each.attributes.get("style", "") for each in page.elements("html", "body"))]
    return "dark" in " ".join(said).lower() or any(map(_SCHEME.search, styles))


def _is_scheme(meta: Element) -> bool:
    return meta.attributes.get("name", "").lower() == "color-scheme"


def _check(place: Place, page: Page, rules: list[Rule], canvas: _Look, where: str) -> Iterator[Finding]:
    seen = set[tuple[str, str]]()
    for words, look in _texts(page.root, rules, canvas):
        measured = look.measured
        if measured is None or measured >= look.wanted or look.background is None:
            continue
        pair = str(look.colour.over(look.background)), str(look.background)
        if pair in seen:
            continue
        seen.add(pair)
        yield place.error(
            "contrast",
            f"«{_short(words)}» is {pair[0]} on {pair[1]}{where}: {_ratio(measured)} : 1, and {look.wanted} is needed",
            "make one of the two colours darker or lighter",
        )


def _texts(root: Element, rules: list[Rule], canvas: _Look) -> Iterator[tuple[str, _Look]]:
    """What can be read, and how it looks."""
    waiting = [(root, canvas)]
    while waiting:
        element, look = waiting.pop()
        inner = [(each, _inside(each, look, rules)) for each in element.children if isinstance(each, Element)]
        waiting += [(each, seen) for each, seen in reversed(inner) if seen is not None]
        yield from ((each, look) for each in element.children if isinstance(each, str) and _is_read(each))


def _is_read(text: str) -> bool:
    return any(map(str.isalnum, text))


def _inside(element: Element, look: _Look, rules: list[Rule]) -> _Look | None:
    """How an element looks in what it stands in; None where nobody sees it."""
    style = styled(element, rules)
    if element.tag in _UNSEEN or _is_hidden(style):
        return None
    size = _size(element, style, look.size)
    if size <= 0:
        return None
    return replace(
        look,
        colour=_colour(element, style, look.colour),
        background=_background(element, style, look.background),
        size=size,
        is_bold=_is_bold(element, style, look),
    )


def _is_hidden(style: dict[str, str]) -> bool:
    return (
        style.get("display", "").lower() == "none"
        or style.get("visibility", "").lower() == "hidden"
        or style.get("mso-hide", "").lower() == "all"
        or any(_NOTHING.fullmatch(style.get(name, "1")) for name in ("opacity", "max-height"))
    )


def _colour(element: Element, style: dict[str, str], around: Colour) -> Colour:
    default = LINK if element.tag == "a" and "href" in element.attributes else around
    given = style.get("color") or element.attributes.get("color", "")
    return around if given.lower() == "inherit" else colour_of(given) or default


def _background(element: Element, style: dict[str, str], around: Colour | None) -> Colour | None:
    """What is behind it: its own, over that of what it stands in."""
    if _PICTURE.search(style.get("background-image", "")) or element.attributes.get("background"):
        return None
    given = next((style[name] for name in reversed(style) if name in ("background", "background-color")), None)
    if given is not None and _PICTURE.search(given):
        return None
    own = _first_colour(given if given is not None else element.attributes.get("bgcolor", ""))
    if own is None or own.covers == 0:
        return around
    return own if own.covers == 1 else None if around is None else own.over(around)


def _first_colour(value: str) -> Colour | None:
    """Of `background: #fff none`."""
    parts = re.findall(r"rgba?\([^()]*\)|[^\s]+", value)
    return next((found for part in parts if (found := colour_of(part)) is not None), None)


def _size(element: Element, style: dict[str, str], around: float) -> float:
    given = style.get("font-size", "").lower()
    if _NOTHING.fullmatch(given):
        return 0.0
    found = _SIZE.fullmatch(given)
    if found is None:
        return _SIZES.get(element.tag, around)
    number = float(found[1])
    return number * _PIXELS[found[2]] if found[2] in _PIXELS else number * around / (100 if found[2] == "%" else 1)


def _is_bold(element: Element, style: dict[str, str], around: _Look) -> bool:
    weight = style.get("font-weight", "").lower()
    if weight.isdigit():
        return int(weight) >= 700
    if weight in ("bold", "bolder", "normal", "lighter"):
        return weight.startswith("bold")
    return around.is_bold or element.tag in _BOLD


def _ratio(measured: float) -> str:
    return f"{int(measured * 100) / 100:.2f}"


def _short(words: str) -> str:
    words = " ".join(words.split())
    return words if len(words) <= 40 else f"{words[:39]}…"

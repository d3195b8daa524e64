"""An email's HTML, written anew so that looking at it takes time and memory in proportion to its length.

The rules by which browsers mend broken HTML are quadratic in places, and in places worse: 400 kB of nested `<div>` keep
a parser busy for seconds, two hundred unclosed `<font>` are repeated in every paragraph that follows, a tag with a
hundred thousand attributes is compared with itself. Hostile HTML cannot be recognised by counting, because what is a
tag and what is a comment depends on who reads it. So it is not judged but written anew, from the pieces that our own
linear reader sees: only elements that a preview shows, with only the attributes they may have, every one of them closed
in its place. Whoever parses the result finds no more than is counted here, and that is bounded.

This is about cost. What is safe to show is decided afterwards, by nh3 (see `viewer`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from html import escape

from postroom.compose.markup import Tag, pieces

LONGEST = 2_000_000
"""Characters of HTML, as it is written and as it is written anew."""

MOST = 100_000
"""Tags and texts."""

DEEPEST = 200
"""Elements within each other. Browsers themselves stop at 512."""

_VOID = frozenset(("br", "hr", "img", "col", "wbr"))
_FORMATTING = frozenset(
    ("a", "b", "big", "code", "em", "font", "i", "s", "small", "strike", "strong", "tt", "u"),
)
"""What goes on in the next paragraph when it was not closed."""
_CELLS = frozenset(("td", "th"))
_ROWS = frozenset(("tr", *_CELLS))
_GROUPS = frozenset(("tbody", "thead", "tfoot", "caption", "colgroup", *_ROWS))
_TABLES = frozenset(("table", *_GROUPS))
_BLOCKS = _TABLES | frozenset(
    ("address", "article", "aside", "blockquote", "center", "dd", "details", "div", "dl", "dt", "figcaption", "figure",
     "footer", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup", "hr", "li", "main", "nav", "ol", "p", "pre",
     "section", "summary", "ul"),
)  # fmt: skip
_ENDS: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "a": (frozenset(("a",)), _TABLES),
    "li": (frozenset(("li",)), frozenset(("ul", "ol", *_TABLES))),
    "dt": (frozenset(("dt", "dd")), frozenset(("dl", *_TABLES))),
    "dd": (frozenset(("dt", "dd")), frozenset(("dl", *_TABLES))),
    "td": (_CELLS, frozenset(("table", "tr"))),
    "th": (_CELLS, frozenset(("table", "tr"))),
    "tr": (_ROWS, frozenset(("table", "tbody", "thead", "tfoot"))),
    **dict.fromkeys(("tbody", "thead", "tfoot", "caption", "colgroup"), (_GROUPS, frozenset(("table",)))),
}
"""What an element ends by beginning, and what keeps that from reaching further out."""
_PARAGRAPH = frozenset(("p",))


class CannotShow(Exception):
    """HTML that would take too much to look at. The words go on a page."""


@dataclass(slots=True)
class _Open:
    """An element that was begun."""

    name: str
    start: str
    """Its tag, to begin it again with."""
    ended: bool = False
    """Its end was read while there were blocks inside it: it ends with them."""


def tamed(html: str, *, tags: Collection[str], attributes: Mapping[str, Collection[str]]) -> str:
    """The same HTML with these elements and attributes only; raises `CannotShow` beyond the bounds."""
    if len(html) > LONGEST:
        raise CannotShow("too large to show")
    writer = _Writer(tags, attributes)
    for number, piece in enumerate(pieces(html)):
        if number >= MOST:
            raise CannotShow("too large to show")
        if isinstance(piece, str):
            writer.write(escape(piece, quote=False))
        elif piece.name in tags:
            if piece.closing:
                writer.end(piece.name)
            else:
                writer.begin(piece)
    return writer.whole()


class _Writer:
    """Writes elements, each of which is closed before what is around it."""

    def __init__(self, tags: Collection[str], attributes: Mapping[str, Collection[str]]) -> None:
        everywhere = attributes.get("*", ())
        self._allowed = {name: frozenset((*everywhere, *attributes.get(name, ()))) for name in tags}
        self._written: list[str] = []
        self._length = 0
        self._open: list[_Open] = []
        self._places: dict[str, list[int]] = defaultdict(list)
        """Where elements of a name are among the open ones, but for those that were ended."""

    def write(self, text: str) -> None:
        self._length += len(text)
        if self._length > LONGEST:
            raise CannotShow("too large to show")
        self._written.append(text)

    def begin(self, tag: Tag) -> None:
        if tag.name in _BLOCKS:
            self._end_outermost(_PARAGRAPH, within=_TABLES)
        if tag.name in _ENDS:
            names, within = _ENDS[tag.name]
            self._end_outermost(names, within=within)
        start = self._start(tag)
        if tag.name in _VOID:
            self.write(start)
        else:
            self._enter(_Open(tag.name, start))

    def end(self, name: str) -> None:
        """End the nearest element of that name; but none of those around a table that we are in."""
        place = next(reversed(self._places[name]), -1)
        if place >= 0 and (name in _TABLES or place > self._wall(_TABLES)):
            self._end_at(place)

    def whole(self) -> str:
        self._leave_down_to(0, again=False)
        return "".join(self._written)

    def _start(self, tag: Tag) -> str:
        if not tag.source:
            return f"<{tag.name}>"
        allowed = self._allowed[tag.name]
        given = (f' {name}="{escape(value)}"' for name, value in tag.attributes().items() if name in allowed)
        return f"<{tag.name}{''.join(given)}>"

    def _enter(self, element: _Open) -> None:
        if len(self._open) >= DEEPEST:
            raise CannotShow("too deep to show")
        self.write(element.start)
        self._places[element.name].append(len(self._open))
        self._open.append(element)

    def _end_outermost(self, names: frozenset[str], *, within: frozenset[str]) -> None:
        """End the outermost element of these names that has none of `within` between itself and us."""
        wall = self._wall(within)
        inside = [place for name in names for place in self._places[name] if place > wall]
        if inside:
            self._end_at(min(inside))

    def _wall(self, names: frozenset[str]) -> int:
        """The place of the nearest element of these names."""
        return max((self._places[name][-1] for name in names if self._places[name]), default=-1)

    def _end_at(self, place: int) -> None:
        element = self._open[place]
        if element.name not in _BLOCKS and any(each.name in _BLOCKS for each in self._open[place:]):
            element.ended = True
            self._places[element.name].remove(place)
        else:
            self._leave_down_to(place, again=element.name not in _TABLES)

    def _leave_down_to(self, place: int, *, again: bool) -> None:
        """Close what is open from this place on; what formats text and was not ended goes on, if `again`."""
        left = [self._leave() for _ in range(len(self._open) - place)]
        while self._open and self._open[-1].ended:
            self._leave()
        if again:
            for element in reversed(left[:-1]):
                if element.name in _FORMATTING and not element.ended:
                    self._enter(element)

    def _leave(self) -> _Open:
        element = self._open.pop()
        if not element.ended:
            self._places[element.name].pop()
        self.write(f"</{element.name}>")
        return element

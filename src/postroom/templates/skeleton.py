"""The page of a template with places left for what differs from one recipient to the next.

Inlining takes longer than rendering, and what it does depends on the page's elements alone, not on the words in them.
So a page is rendered with a mark in place of every value; where a page with the same marks in the same places was
inlined before, only the values are put in. What an email says is the same either way, octet by octet, which
`tests/templates/test_skeleton.py` holds for values of every kind. Where it might not be, the page is inlined whole:
values inside styles, comments, classes and ids, or values that a parser would read in a way of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from postroom.templates.inlining import inlined
from postroom.templates.links import links_in

MARK = re.compile("\ue000(\\d+)\ue001")
MOST_PAGES = 32
"""Different pages of one template that are kept: they differ by what its conditions and loops leave in."""

_TOKEN = re.compile(
    r"(?P<comment><!--.*?-->|<![^>]*>)"
    r"|<(?P<raw>style|script|xmp|iframe|noembed|noframes|noscript|plaintext|textarea|pre)\b.*?</(?P=raw)>"
    r'|(?P<tag></?[a-zA-Z](?:[^">]|"[^"]*")*>)'
    r"|(?P<text>[^<]+)",
    re.DOTALL | re.IGNORECASE,
)
_SOURCE_TAG = re.compile(r"""<[a-zA-Z/!?\ue000](?:"[^"]*"|'[^']*'|[^"'>])*>""")
_QUOTED = re.compile(r"""=\s*(?:"[^"]*"|'[^']*')""")
_HALF_REFERENCE = re.compile("&#?\\w*\ue000")
_ATTRIBUTE = re.compile(r'\s([^\s="<>]+)="([^"]*)"')
_SELECTED = re.compile(r"\[\s*([\w-]+)")
_STYLING = frozenset(("class", "id", "style"))
_BY_CONTENT = (":empty", ":lang", ":dir")
"""What selects elements by what stands in them."""


@dataclass(frozen=True, slots=True)
class Skeleton:
    """An inlined page, cut at its marks."""

    pieces: tuple[str, ...]
    """What stands before, between and after the values."""
    places: tuple[tuple[int, bool], ...]
    """For each gap, which value it takes, and whether that stands inside an attribute."""
    links: tuple[str, ...]
    """Where the page leads to, with marks."""

    @classmethod
    def of(cls, page: str) -> Skeleton | None:
        """Inline a page with marks; None where values could matter to the inlining."""
        if _joins_markup(page):
            return None
        html = inlined(page)
        quoted = _marks(html, page)
        if quoted is None:
            return None
        pieces = MARK.split(html)
        return cls(
            tuple(pieces[::2]), tuple((int(number), quoted[int(number)]) for number in pieces[1::2]), links_in(html)
        )

    def filled(self, values: list[str]) -> str:
        """The page with its values."""
        parts = [self.pieces[0]]
        for (number, quoted), piece in zip(self.places, self.pieces[1:], strict=True):
            parts.append(_quoted(values[number]) if quoted else _written(values[number]))
            parts.append(piece)
        return "".join(parts)

    def filled_links(self, values: list[str]) -> list[str]:
        """Where the page leads to with these values."""
        return [MARK.sub(lambda mark: _quoted(values[int(mark[1])]), link) for link in self.links]


def fits(values: list[str]) -> bool:
    """Whether these can simply be put in: a parser would drop or change what is refused here."""
    return all(
        value and not value.isspace() and value[0] != "\n" and "\r" not in value and "\0" not in value
        for value in values
    )


def _joins_markup(page: str) -> bool:
    """Whether a value becomes a part of a tag, of an attribute without quotes, or of a character reference."""
    return bool(_HALF_REFERENCE.search(page)) or any(
        "\ue000" in _QUOTED.sub("", tag) for tag in _SOURCE_TAG.findall(page)
    )


def _marks(html: str, page: str) -> dict[int, bool] | None:
    """Which values stand inside attributes; None where one stands where it must not."""
    selected = {name.lower() for name in _SELECTED.findall(page)} | _STYLING
    found: dict[int, bool] = {}
    for token in _TOKEN.finditer(html):
        if token["text"]:
            found |= {int(number): False for number in MARK.findall(token["text"])}
        elif token["tag"]:
            rest = token["tag"]
            for name, value in _ATTRIBUTE.findall(rest):
                numbers = [int(number) for number in MARK.findall(value)]
                if numbers and name.lower() in selected:
                    return None
                found |= dict.fromkeys(numbers, True)
            if MARK.search(_ATTRIBUTE.sub("", rest)):
                return None
        elif MARK.search(token[0]):
            return None
    complete = {int(number) for number in MARK.findall(page)}
    return found if found.keys() == complete and not any(each in page for each in _BY_CONTENT) else None


def _written(value: str) -> str:
    """As HTML writes a text."""
    value = value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return value.replace("\xa0", "&nbsp;")


def _quoted(value: str) -> str:
    """As HTML writes the value of an attribute."""
    return value.replace("&", "&amp;").replace('"', "&quot;").replace("\xa0", "&nbsp;")

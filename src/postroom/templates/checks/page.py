"""A rendered page as a tree, for rules to walk over.

Pages come from the inliner, which writes every element out; so a simple reader is enough. What only Outlook reads
(`<!--[if mso]> … <![endif]-->`) is kept beside, as it stands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr")
)


@dataclass(slots=True, eq=False)
class Element:
    """An element, with what stands in it."""

    tag: str
    attributes: Mapping[str, str]
    parent: Element | None = None
    children: list[Element | str] = field(default_factory=list)
    classes: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.classes = frozenset(self.attributes.get("class", "").split())

    def walk(self) -> Iterator[Element]:
        """It and all within, in the order of the page."""
        waiting = [self]
        while waiting:
            element = waiting.pop()
            yield element
            waiting.extend(each for each in reversed(element.children) if isinstance(each, Element))

    def ancestry(self) -> Iterator[Element]:
        """It, then what it stands in, outwards."""
        element: Element | None = self
        while element is not None:
            yield element
            element = element.parent

    def words(self) -> str:
        """The text in it, and of all within."""
        return "".join(each for element in self.walk() for each in element.children if isinstance(each, str)).strip()


@dataclass(slots=True)
class Page:
    """A page."""

    root: Element
    comments: list[str]

    @classmethod
    def of(cls, html: str) -> Page:
        reader = _Reader()
        reader.feed(html)
        reader.close()
        return cls(reader.root, reader.comments)

    def elements(self, *tags: str) -> Iterator[Element]:
        """Those of these kinds, or all of them."""
        return (each for each in self.root.walk() if each is not self.root and (not tags or each.tag in tags))

    def styles(self) -> str:
        """What is left in `<style>`: the rules that cannot be moved into elements."""
        return "\n".join(each.words() for each in self.elements("style"))


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = self._inside = Element("", {})
        self.comments: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs}, self._inside)
        self._inside.children.append(element)
        if tag not in _VOID:
            self._inside = element

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        for element in self._inside.ancestry():
            if element.tag == tag and element.parent is not None:
                self._inside = element.parent
                return

    def handle_data(self, data: str) -> None:
        self._inside.children.append(data)

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

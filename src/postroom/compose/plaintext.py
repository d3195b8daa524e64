"""The text of an HTML body, for readers and filters that want text.

A sketch of the page in words: paragraphs apart, lists with dashes, links with their address, images by their
alternative text. It is derived once, when the email is made, and stored; what was sent can be read later.
"""

from __future__ import annotations

import re

from postroom.compose.markup import Tag, pieces

_SILENT = frozenset(("head", "title", "style", "script", "template", "noscript", "svg", "object"))
_PARAGRAPHS = frozenset(
    ("p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "dl", "table", "blockquote", "pre", "figure", "hr")
)
_LINES = frozenset(
    ("div", "tr", "li", "dt", "dd", "section", "article", "header", "footer", "main", "nav", "aside", "address", "form")
)
_VOID = frozenset(
    ("br", "hr", "img", "input", "meta", "link", "col", "wbr", "area", "base", "embed", "source", "track")
)
_HIDDEN = re.compile(r"display\s*:\s*none", re.IGNORECASE)
_SPACE = re.compile(r"[ \t\r\n\f]+")
_WORTH_SHOWING = ("http:", "https:", "mailto:", "tel:")


def text_from_html(html: str) -> str:
    """The readable text of a page: lines without trailing space, at most one blank line between them."""
    reader = _Reader()
    for piece in pieces(html):
        if isinstance(piece, str):
            reader.read_text(piece)
        elif piece.closing:
            reader.read_end(piece.name)
        else:
            reader.read_start(piece)
    return reader.text()


class _Reader:
    """Collects words and remembers how many line breaks are due before the next one."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._breaks = 0
        self._space = False
        self._silent: list[str] = []
        self._link: tuple[str, int] | None = None
        self._lists: list[int | None] = []
        self._preformatted = 0

    def text(self) -> str:
        return "".join(self._parts)

    def read_start(self, tag: Tag) -> None:
        name = tag.name
        if self._silent:
            # Only the element's own namesakes are counted, so that tags left open inside cannot silence the rest.
            if name == self._silent[0]:
                self._silent.append(name)
            return
        given = tag.attributes() if tag.source else {}
        if name not in _VOID and (name in _SILENT or "hidden" in given or _HIDDEN.search(given.get("style", ""))):
            self._silent.append(name)
            return
        self._break_for(name)
        self._open(name, given)

    def read_end(self, name: str) -> None:
        if self._silent:
            if name == self._silent[0]:
                self._silent.pop()
            return
        self._close(name)
        if name not in _VOID:
            self._break_for(name)

    def read_text(self, data: str) -> None:
        if self._silent:
            return
        if self._preformatted:
            self._write_lines(data)
            return
        words = _SPACE.sub(" ", data)
        self._space = self._space or words.startswith(" ")
        if bare := words.strip(" "):
            self._write(bare)
            self._space = words.endswith(" ")

    def _open(self, tag: str, given: dict[str, str]) -> None:
        match tag:
            case "br":
                # Two in a row make the blank line that their author wanted.
                self._breaks = min(self._breaks + 1, 2)
            case "hr":
                self._write("----")
                self._break_for(tag)
            case "img" if alternative := _SPACE.sub(" ", given.get("alt", "")).strip():
                self._write(alternative)
            case "a":
                self._link = (given.get("href", "").strip(), len(self._parts))
            case "ul":
                self._lists.append(None)
            case "ol":
                self._lists.append(0)
            case "li":
                self._write(self._bullet())
                self._space = True
            case "td" | "th":
                self._space = True
            case "pre":
                self._preformatted += 1

    def _close(self, tag: str) -> None:
        match tag:
            case "a" if self._link:
                self._finish_link(*self._link)
                self._link = None
            case "ul" | "ol" if self._lists:
                self._lists.pop()
            case "pre" if self._preformatted:
                self._preformatted -= 1

    def _finish_link(self, address: str, start: int) -> None:
        shown = "".join(self._parts[start:]).strip()
        bare = address.removeprefix("mailto:").removeprefix("tel:")
        if not address.lower().startswith(_WORTH_SHOWING) or shown in (address, bare):
            return
        self._space = self._space or bool(shown)
        self._write(f"({bare})" if shown else bare)

    def _bullet(self) -> str:
        if not self._lists or (count := self._lists[-1]) is None:
            return "-"
        self._lists[-1] = count + 1
        return f"{count + 1}."

    def _break_for(self, tag: str) -> None:
        inside_list = tag in ("ul", "ol") and len(self._lists) > 0
        if tag in _PARAGRAPHS and not inside_list:
            self._breaks = 2
        elif tag in _LINES or inside_list:
            self._breaks = max(self._breaks, 1)

    def _write(self, words: str) -> None:
        if self._breaks and self._parts:
            self._parts.append("\n" * self._breaks)
        elif self._space and self._parts:
            self._parts.append(" ")
        self._breaks, self._space = 0, False
        self._parts.append(words)

    def _write_lines(self, data: str) -> None:
        lines = data.replace("\r\n", "\n").split("\n")
        for number, line in enumerate(lines):
            if number:
                self._breaks = min(self._breaks + 1, 2)
            if line.strip():
                self._write(line.rstrip())

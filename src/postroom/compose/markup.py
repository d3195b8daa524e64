"""HTML in pieces: tags and the text between them.

Not the standard library's parser, which raises on some declarations and takes time in the square of the length for
others (a minute for 60 kB of `<a `, on Python 3.11): the HTML of an email may hold what strangers wrote. Here every
scan that finds no end is the last one, so the time grows with the length only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import NamedTuple

_RAW = frozenset(("script", "style", "title", "textarea", "xmp", "iframe", "noembed", "noframes"))
"""Elements whose content is not markup."""
_TAG = re.compile(
    r"""< (/?) ([A-Za-z][^\s/>]*+) ( (?: [^>=]++ | = \s*+ (?: "[^"]*+" | '[^']*+' | [^\s>]*+ ) )*+ ) >""", re.VERBOSE
)
_ATTRIBUTE = re.compile(r"""([^\s=/"']++) (?: \s*+ = \s*+ (?: "([^"]*+)" | '([^']*+)' | ([^\s]++) ) )?+""", re.VERBOSE)


class Tag(NamedTuple):
    """One tag, its name in lower case."""

    name: str
    closing: bool
    source: str
    """The attributes as they are written; reading them is left to those who need them."""

    def attributes(self) -> dict[str, str]:
        """By name in lower case; of two with one name the first counts, as in browsers."""
        found: dict[str, str] = {}
        for name, double, single, bare in _ATTRIBUTE.findall(self.source):
            found.setdefault(name.lower(), unescape(double or single or bare))
        return found


def pieces(html: str) -> Iterator[Tag | str]:
    """Tags and texts in order, character references resolved; comments and declarations left out.

    Never raises. What cannot be a tag is text.
    """
    position = 0
    while (start := html.find("<", position)) >= 0:
        if start > position:
            yield unescape(html[position:start])
        if match := _TAG.match(html, start):
            tag = Tag(match[2].lower(), bool(match[1]), match[3])
            yield tag
            position = match.end()
            if tag.name in _RAW and not tag.closing:
                position = _end_of_raw(html, tag.name, position)
        elif html[start + 1 : start + 2] in ("!", "?"):
            position = _end_of_declaration(html, start)
        elif _opens_a_tag(html, start):
            # No further tag can end either, so the rest is text.
            yield unescape(html[start:])
            return
        else:
            yield "<"
            position = start + 1
    if position < len(html):
        yield unescape(html[position:])


def _opens_a_tag(html: str, start: int) -> bool:
    following = html[start + 1 : start + 3].removeprefix("/")[:1]
    return following.isascii() and following.isalpha()


def _end_of_raw(html: str, name: str, position: int) -> int:
    end = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(html, position)
    return end.start() if end else len(html)


def _end_of_declaration(html: str, start: int) -> int:
    mark = "-->" if html.startswith("<!--", start) else ">"
    # `<!-->` is a whole comment, so its end may overlap its beginning.
    end = html.find(mark, start + 2)
    return end + len(mark) if end >= 0 else len(html)

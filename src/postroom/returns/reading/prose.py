"""Plain text that tells of failures: which paragraphs speak of whom."""

from __future__ import annotations

import re

from postroom.returns.reading.opening import Opened
from postroom.returns.reading.saying import Saying, code_in, saying, status_in

_ADDRESS = re.compile(r"(?:\d{3}[ -])?<?[^\s<>@]{1,200}@[^\s<>]{1,200}>?[:;,]?")
_WHOLE = re.compile(r"\d{3} <[^\s<>]{1,200}>\.\.\. ")
"""A line that tells it all, in sendmail's manner."""
_ORIGIN = re.compile(r"\b(?:generated|expanded) (?:from|by)\s{1,20}\S{1,300}")


def said_of(opened: Opened, names: list[str]) -> Saying:
    """What the text says of a recipient: the paragraph that names them, to the one that has a code or a reason."""
    paragraphs = opened.paragraphs
    first = next((n for n, each in enumerate(opened.lower_paragraphs) if any(name in each for name in names)), None)
    if first is None:
        return Saying()
    # The lines before the first that names them may speak of another.
    lines = paragraphs[first].split("\n")
    begin = next((n for n, line in enumerate(lines) if any(name in line.lower() for name in names)), 0)
    end = next((n for n in range(begin + 1, len(lines)) if _speaks_of_another(lines[n], names)), len(lines))
    if _WHOLE.match(lines[begin]):
        end = next((n for n in range(begin + 1, end) if not lines[n][:1].isspace()), end)
        return saying("\n".join(lines[begin:end]))
    own = "\n".join(lines[begin:end])
    if end < len(lines) or _tells(own):
        return saying(own)
    return _with_following(own, paragraphs[first + 1 :], names)


def without_origins(report: str) -> str:
    """A report without the addresses that a recipient was made from: a list's, an alias."""
    return _ORIGIN.sub(" ", report)


def _with_following(own: str, paragraphs: tuple[str, ...], names: list[str]) -> Saying:
    """With the paragraphs to the first that has a code, as long as they speak of nobody else; else with the next."""
    taken = [own]
    for each in paragraphs[:12]:
        if any(_speaks_of_another(line, names) for line in each.split("\n")):
            break
        taken.append(each)
        if _tells(each):
            return saying("\n\n".join(taken))
    return saying(own if len(_ADDRESS.sub("", own).split()) >= 3 else "\n\n".join(taken[:3]))


def _tells(text: str) -> bool:
    return bool(status_in(text)) or code_in(text) is not None


def _speaks_of_another(line: str, names: list[str]) -> bool:
    bare = line.strip().lower()
    return bool(_ADDRESS.match(bare)) and not any(name in bare for name in names)

"""Plain text that tells of failures: which paragraphs speak of whom."""

from __future__ import annotations

import re

from postroom.returns.reading.addresses import addresses_in
from postroom.returns.reading.opening import Opened
from postroom.settle.bounces.saying import JUDGED, Saying, code_in, saying, status_in

_ADDRESS = re.compile(r"(?:\d{3}[ -])?<?[^\s<>@]{1,200}@[^\s<>]{1,200}>?[:;,]?")
_WHOLE = re.compile(r"\d{3} <[^\s<>]{1,200}>\.\.\. ")
"""A line that tells it all, in sendmail's manner."""
_NEAR = 400
"""Characters behind a recipient in which it is told what they were made from."""
_FURTHER = 12
"""Paragraphs behind one that names somebody, in which a reason is looked for."""
_ORIGIN = re.compile(r"\b(?:generated|expanded) (?:from|by):?\s{1,20}\S{1,300}")


def said_of(opened: Opened, names: list[str]) -> Saying:
    """What the text says of a recipient: the paragraph that names them, to the one that has a code or a reason."""
    for number, lower in enumerate(opened.lower_paragraphs):
        if places := [at for name in names if (at := lower.find(name)) >= 0]:
            # The lines before the first that names them may speak of another.
            begin = lower.rfind("\n", 0, min(places)) + 1
            lines = opened.paragraphs[number][begin : begin + JUDGED].split("\n")
            return _said_in(lines, opened.paragraphs[number + 1 :][:_FURTHER], names)
    return Saying()


def _said_in(lines: list[str], following: tuple[str, ...], names: list[str]) -> Saying:
    """What the lines say, to the one that speaks of another; where they tell little, what follows them too."""
    end = next((n for n in range(1, len(lines)) if _speaks_of_another(lines[n], names)), len(lines))
    if _WHOLE.match(lines[0]):
        end = next((n for n in range(1, end) if not lines[n][:1].isspace()), end)
        return saying("\n".join(lines[:end]))
    own = "\n".join(lines[:end])
    if end < len(lines) or _tells(own):
        return saying(own)
    return _with_following(own, following, names)


def without_origins(report: str) -> str:
    """A report without the addresses that a recipient was made from: a list's, an alias."""
    return _ORIGIN.sub(" ", report)


def origins_of(opened: Opened, address: str) -> tuple[str, ...]:
    """What a recipient was made from, where the text tells: that may be the address that we have."""
    at = opened.lower_report.find(address)
    found = _ORIGIN.search(opened.report, at, at + _NEAR) if at >= 0 else None
    return tuple(addresses_in(found[0])) if found else ()


def _with_following(own: str, paragraphs: tuple[str, ...], names: list[str]) -> Saying:
    """With the paragraphs to the first that has a code, as long as they speak of nobody else; else with the next."""
    taken = [own]
    for each in paragraphs:
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

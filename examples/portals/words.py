"""What the pages say, and in which language: the one that was chosen, else the first that the browser asks for."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from postroom import Portal, PostroomError

FOLDER = Path(__file__).parent / "words"


@cache
def words_of(portal: str, language: str) -> Mapping[str, str]:
    """The words of a portal in a language: its own where it has some, else those that all share."""
    read = tomllib.loads((FOLDER / f"{language}.toml").read_text("utf-8"))
    shared = {key: value for key, value in read.items() if isinstance(value, str)}
    return {**shared, **read.get(portal, {})}


def choose(portal: Portal, *, chosen: str | None, accepted: str | None) -> str:
    """The language of a page: one that the portal speaks."""
    for wanted in (chosen, *_by_weight(accepted or "")):
        if wanted and (language := spoken(portal, wanted)):
            return language
    return portal.languages.default


def spoken(portal: Portal, language: str) -> str | None:
    """What the portal speaks to somebody who asks for this, `de` for `de-CH`; None if nothing of the kind."""
    try:
        return portal.languages.chain(language)[0]
    except PostroomError:
        return None


def _by_weight(accepted: str) -> Iterator[str]:
    """The tags of an `Accept-Language`, what is wanted most first: `de-CH, en;q=0.5`."""
    weighed = []
    for part in accepted[:500].split(","):
        tag, _, weight = part.strip().partition(";q=")
        weighed.append((-_number(weight), tag))
    return (tag for _, tag in sorted(weighed, key=lambda each: each[0]))


def _number(weight: str) -> float:
    try:
        return float(weight or 1)
    except ValueError:
        return 0

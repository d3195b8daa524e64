"""Languages of a portal: which there are, and where to look when the one that is asked for is not.

A language is called by its BCP 47 tag, in its usual spelling: `de`, `de-CH`, `zh-Hant`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from postroom.errors import ConfigurationError
from postroom.spelling import suggestion

_TAG = re.compile(r"[A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8}){0,3}", re.ASCII)

_SECOND_LETTERS = {
    "a": "abefkmnrsvyz", "b": "aeghimnors", "c": "aehorsuvy", "d": "aevz", "e": "elnostu", "f": "afijory",
    "g": "adlnuv", "h": "aeiortuyz", "i": "adegiknostuw", "j": "aiv", "k": "agijklmnorsuvwy", "l": "abginotuv",
    "m": "ghiklnorsty", "n": "abdeglnorvy", "o": "cjmrs", "p": "ailst", "q": "u", "r": "mnouw",
    "s": "acdeghiklmnoqrstuvw", "t": "aeghiklnorstwy", "u": "gkrz", "v": "eio", "w": "ao", "x": "h", "y": "io",
    "z": "ahu",
}  # fmt: skip
"""ISO 639-1 by its first letters, with the old codes that are still met."""

_RIGHT_TO_LEFT = frozenset(
    ("ar", "arc", "ckb", "dv", "fa", "he", "iw", "ji", "khw", "ks", "ps", "sd", "syr", "ug", "ur", "yi")
)
_RIGHT_TO_LEFT_SCRIPTS = frozenset(("Adlm", "Arab", "Hebr", "Mand", "Mend", "Nkoo", "Rohg", "Samr", "Syrc", "Thaa"))


class UnknownLanguage(ConfigurationError):
    """A language that a portal does not speak, nor anything it may fall back to."""


def canonical(tag: str) -> str:
    """A tag in its usual spelling; `ConfigurationError` for what is none."""
    if not _TAG.fullmatch(tag):
        raise ConfigurationError(f"{tag!r} is no language; write it like de, de-CH or zh-Hant")
    first, *rest = tag.replace("_", "-").split("-")
    return "-".join([first.lower(), *map(_subtag, rest)])


def may_be_spoken(tag: str) -> bool:
    """Whether a tag can be that of a language. Codes of two letters are known; of three there are thousands, and each
    is believed; a longer word is the name of a language in some language, and no code."""
    first = tag.partition("-")[0]
    return len(first) == 3 or (len(first) == 2 and first[1] in _SECOND_LETTERS.get(first[0], ""))


def _subtag(part: str) -> str:
    """Scripts are written like Hant, regions like CH, everything else in small letters."""
    if len(part) == 4 and part.isalpha():
        return part.capitalize()
    return part.upper() if len(part) == 2 else part.lower()


def direction(tag: str) -> str:
    """`rtl` or `ltr`: which way it is written."""
    first, *rest = tag.split("-")
    scripts = [part for part in rest if len(part) == 4 and part.isalpha()]
    leftwards = scripts[0] in _RIGHT_TO_LEFT_SCRIPTS if scripts else first in _RIGHT_TO_LEFT
    return "rtl" if leftwards else "ltr"


@dataclass(frozen=True, slots=True)
class Languages:
    """Those a portal speaks, the first of them being that of files without a language in their name."""

    spoken: tuple[str, ...] = ("en",)
    fallbacks: Mapping[str, str] = field(default_factory=dict)
    """Where to look next, beside the same language without its last subtag: `{"gsw": "de"}`."""

    @classmethod
    def of(cls, spoken: Iterable[str], fallbacks: Mapping[str, str]) -> Languages:
        """From what somebody has written."""
        spoken = () if isinstance(spoken, str) else tuple(spoken)
        if not spoken:
            raise ConfigurationError("languages: expected several of them, such as ('en', 'de')")
        return cls(
            tuple(dict.fromkeys(map(canonical, spoken))),
            {canonical(one): canonical(other) for one, other in fallbacks.items()},
        )

    @property
    def default(self) -> str:
        return self.spoken[0]

    def chain(self, asked: str | None) -> tuple[str, ...]:
        """Where to look, in this order: `de-CH` gives `de`, then `en`. Nothing is looked for in an unknown one."""
        if asked is None:
            return (self.default,)
        found = [tag for tag in self._steps(canonical(asked)) if tag in self.spoken]
        if not found:
            raise UnknownLanguage(f"{asked!r} is not spoken here; {suggestion(asked, self.spoken)}")
        return tuple(dict.fromkeys([*found, self.default]))

    def _steps(self, tag: str) -> Iterator[str]:
        """The tag and what may stand for it, each once."""
        seen: set[str] = set()
        while tag and tag not in seen:
            seen.add(tag)
            yield tag
            tag = self.fallbacks.get(tag) or tag.rpartition("-")[0]

"""What is in the database and cannot be read: damaged, gone, or written by a newer version.

Such a thing is one email's problem. It is shown as what it is, with a sentence that says what cannot be read and what
to do; everything else about the email, and every other email, is read as usual.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, TypeVar

T = TypeVar("T")
Word = TypeVar("Word", bound=Enum)

UNREADABLE = "(unreadable)"
"""In the place of a subject that is not there."""

GONE = "its content is gone; restore the database from a backup, or dismiss the email"

DAMAGE = (ValueError, TypeError, KeyError, IndexError, AttributeError)
"""What reading raises where JSON, or what it is about, is not as it was written."""


class Words(dict[Any, Word]):
    """The words of one kind by their values; quicker than calling an enum.

    One of a newer version is kept as it is: of this kind, unlike all that are known, under its own name.
    """

    def __init__(self, kind: type[Word]) -> None:
        super().__init__((each.value, each) for each in kind)
        self._kind = kind
        self._base: Any = int if int in kind.__mro__ else str

    def __missing__(self, value: Any) -> Word:
        word: Word = self._base.__new__(self._kind, value)
        word._name_, word._value_ = str(value), value
        return word


class Reading:
    """Reads a row piece by piece, and remembers what could not be read."""

    def __init__(self) -> None:
        self._damaged: list[str] = []
        self._unknown: list[str] = []
        self.gone = False

    def word(self, words: Words[Word], value: Any, name: str) -> Word | None:
        """A word by its value; None for none."""
        if value is None:
            return None
        if value not in words:
            self._unknown.append(f"its {name} {str(value)!r}")
        return words[value]

    def piece(self, name: str, read: Callable[[], T], otherwise: T) -> T:
        """What `read` returns, or something in its place."""
        try:
            return read()
        except DAMAGE:
            self._damaged.append(f"its {name}")
            return otherwise

    @property
    def trouble(self) -> str | None:
        """A sentence for whoever looks at the email; None when all of it could be read."""
        if self.gone:
            return GONE
        told = []
        if self._damaged:
            told.append(
                f"damaged: {', '.join(self._damaged)}; restore the database from a backup, or dismiss the email"
            )
        if self._unknown:
            told.append(
                f"not known to this version: {', '.join(self._unknown)}; look at it with the version that wrote it"
            )
        return "; ".join(told) or None

"""Which wording of which template an email has."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from postroom.errors import InvalidEmail

CHANGED = "*"
"""What follows the version where a person has changed the words since."""

_SHAPES = {
    "portal": (re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,48}"), "a name of at most 49 letters, digits, _ and -"),
    "template": (re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,48}"), "a name of at most 49 letters, digits, _ and -"),
    "version": (re.compile(r"[A-Za-z0-9]{1,64}\*?"), "a digest of at most 64 letters and digits"),
    "language": (re.compile(r"[A-Za-z0-9]{1,8}(-[A-Za-z0-9]{1,8}){0,4}"), "a language tag, such as de or de-CH"),
}
# None of these characters needs to be escaped, in JSON or anywhere else.


@dataclass(frozen=True, slots=True, kw_only=True)
class Edition:
    """Where an email's words come from. Making it checks it.

    It is kept with the email and found by its parts. It is never sent.
    """

    portal: str
    template: str
    version: str
    """A digest of the template's files. A `*` behind it says that a person has changed the words in a replay."""
    language: str
    """The one really used, after all fallbacks."""

    def __post_init__(self) -> None:
        for field, (shape, words) in _SHAPES.items():
            value = getattr(self, field)
            if not isinstance(value, str) or not shape.fullmatch(value):
                raise InvalidEmail(f"edition.{field}", f"{value!r} cannot be one", f"give {words}")

    @property
    def kind(self) -> str:
        """What emails of this template are of, unless somebody says otherwise."""
        return f"{self.portal}.{self.template}"

    @property
    def made_from(self) -> str:
        """The version that the words are from, or were before a person changed them: what it is found by."""
        return self.version.removesuffix(CHANGED)

    def changed(self) -> Edition:
        """The same for words that are a person's own from now on."""
        return replace(self, version=self.made_from + CHANGED)

    def terms(self) -> tuple[str, ...]:
        """What emails that have it can be found by."""
        return (
            f"portal:{self.portal}",
            f"template:{self.kind}",
            f"version:{self.made_from}",
            f"language:{self.language}",
        )


def write_edition(edition: Edition) -> str:
    """As an envelope has it: compact JSON, without the braces of what is around it."""
    return (
        f'"edition":{{"portal":"{edition.portal}","template":"{edition.template}",'
        f'"version":"{edition.version}","language":"{edition.language}"}}'
    )


def read_edition(stored: Mapping[str, Any]) -> Edition | None:
    """The edition that an envelope names; None where it names none. A part that a later release adds is left out."""
    found = stored.get("edition")
    return None if found is None else Edition(**{field: found[field] for field in _SHAPES})

"""What a portal looks like and who speaks: the same in all of its templates."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from postroom.errors import ConfigurationError

_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Brand:
    """A portal's name and dress. Templates know it as `brand`."""

    name: str
    logo: str | Path | None = None
    """A picture in the portal's folder. Templates show it as `<img src="{{ brand.logo }}">`, and it travels inside."""
    colour: str = "#1f2937"
    """Of what is to be pressed: six hexadecimal digits."""
    footer: str = ""
    """Who sends this, as the law wants it: company and postal address."""
    website: str = ""

    def __post_init__(self) -> None:
        if not self.name:
            raise ConfigurationError("a brand needs a name, such as Brand(name='Hub')")
        if not _COLOUR.fullmatch(self.colour):
            raise ConfigurationError(f"brand {self.name}: {self.colour!r} is no colour; write it like #0b6e4f")

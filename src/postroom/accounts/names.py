"""How names are compared: an email address in lower case, with every letter in its plain form.

Keyboards and phones write the same name in capitals, in full-width letters, or with the letter and its accent apart.
All of that is one name (Unicode's NFKC, then lower case), so that nobody is kept out by a keyboard, no two people have
names that look alike but for it, and no spelling is a name of its own to whoever guesses.
"""

from __future__ import annotations

import unicodedata

from postroom.compose import parse_address
from postroom.errors import ConfigurationError

LONGEST = 320
"""Characters of a name; an address has no more."""


def normal_name(name: str) -> str:
    """A name as it is kept: an email address that means the same however it is compared.

    Mail goes to it as it is kept. An address that only looks like the plain one is therefore refused instead of being
    rewritten into somebody else's.
    """
    address = parse_address("name", name.strip()).address.lower()
    if address != plain(address):
        raise ConfigurationError(
            f"the name {address!r} is written in letters that are compared as {plain(address)!r}; "
            "give the address in its plain letters"
        )
    return address


def typed_name(text: str) -> str:
    """A name as somebody typed it at the door, where nothing is refused for its form.

    What no name can hold, such as control characters, is replaced: it is nobody's name, and databases cannot take it.
    """
    return plain(printable(text.strip()[:LONGEST]))[:LONGEST]


def plain(text: str) -> str:
    """The one spelling of all that are compared as equal."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).lower())


def printable(text: str) -> str:
    """The text without what cannot be shown, stored or encoded."""
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text)

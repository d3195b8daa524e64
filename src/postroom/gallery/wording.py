"""How the gallery's pages say things, in whichever house."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from postroom.admin.wording import language_label, octets


def as_sentence(words: str) -> str:
    """With a capital letter and a full stop, for words that have neither."""
    return words[:1].upper() + words[1:] + ("" if words.endswith((".", "?", "!")) else ".")


FILTERS: Mapping[str, Callable[..., str]] = {
    "as_sentence": as_sentence,
    "language_label": language_label,
    "octets": octets,
}
"""What the gallery's templates ask of a house's environment."""

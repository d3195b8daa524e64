"""A correction as a form holds it, and what of it differs from the original. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from postroom.compose import Letter
from postroom.compose.address import Address
from postroom.compose.plaintext import text_from_html
from postroom.operate.acting import CORRECTABLE

ADDRESSES = ("to", "cc", "bcc")


def written(letter: Letter | None, given: Mapping[str, Any] | None = None) -> dict[str, str]:
    """What the form shows: what somebody has typed, else the original. Of a sensitive email (no letter), nothing."""
    original = original_of(letter) if letter else {}
    return {name: str(given[name]) if given and name in given else value for name, value in original.items()}


def original_of(letter: Letter) -> dict[str, str]:
    """A letter in the form's words."""
    return {
        "to": _listed(letter.to),
        "cc": _listed(letter.cc),
        "bcc": _listed(letter.bcc),
        "subject": letter.subject,
        "text": letter.text or "",
        "html": letter.html or "",
    }


def changed(given: Mapping[str, Any], original: Mapping[str, str]) -> dict[str, Any]:
    """What to correct: fields that differ from the original. That browsers end lines with CRLF is no difference.

    What was not asked for is a correction too, and not passed over: it is refused where there is nothing to correct.
    """
    typed = {name: _plain(given[name]) for name in CORRECTABLE if name in given}
    differing = {name: value for name, value in typed.items() if value != _plain(original.get(name, ""))}
    return {name: _split(value) if name in ADDRESSES else value for name, value in differing.items()}


def with_text(corrections: Mapping[str, Any]) -> dict[str, Any]:
    """With the text that goes with corrected HTML, where none is given: deriving it may take seconds."""
    if corrections.get("html") is None or corrections.get("text") is not None:
        return dict(corrections)
    return {**corrections, "text": text_from_html(corrections["html"])}


def _listed(addresses: tuple[Address, ...]) -> str:
    return ", ".join(str(each) for each in addresses)


def _plain(value: Any) -> str:
    return str(value).replace("\r\n", "\n").strip()


def _split(value: str) -> list[str]:
    """Addresses as people write them, one after the other; a comma inside quotes belongs to a name."""
    parts, quoted = [""], False
    for letter in value.replace("\n", ","):
        quoted ^= letter == '"' and not parts[-1].endswith("\\")
        if letter in ",;" and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]

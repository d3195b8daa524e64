"""The email that a message returns or quotes: whom it was for, and which one it is."""

from __future__ import annotations

import re
from email.message import Message

from postroom.returns.reading import limits
from postroom.returns.reading.addresses import header_addresses
from postroom.returns.reading.opening import Opened, raw

_MESSAGE_ID = re.compile(r"<[^<>\s]{1,500}>")


def original_recipients(headers: Message | None) -> list[str]:
    """Whom the returned email was for."""
    if headers is None:
        return []
    return header_addresses([*headers.get_all("To", []), *headers.get_all("Cc", [])])


def message_ids(value: str) -> list[str]:
    """The Message-IDs in a header, in order, each once."""
    return list(dict.fromkeys(_MESSAGE_ID.findall(" ".join(value[: limits.HEADER].split()))))[:50]


def about(opened: Opened) -> tuple[str, ...]:
    """Message-IDs of what a message speaks of, the likeliest first."""
    original = opened.original
    found = message_ids(raw(original, "Message-ID")) if original is not None else []
    found += message_ids(raw(opened.headers, "In-Reply-To"))
    found += reversed(message_ids(raw(opened.headers, "References")))
    return tuple(dict.fromkeys(found))

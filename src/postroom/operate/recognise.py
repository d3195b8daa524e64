"""What somebody typed into the search field, recognised by its shape."""

from __future__ import annotations

import re
from dataclasses import dataclass
from uuid import UUID

from postroom.vocabulary import EmailId

_PREFIXES = {
    "id": "id",
    "to": "recipient",
    "recipient": "recipient",
    "key": "key",
    "kind": "kind",
    "tag": "tag",
    "route": "route",
    "portal": "portal",
    "template": "template",
    "version": "version",
    "language": "language",
    "code": "reply_code",
    "subject": "subject",
}
_MESSAGE_ID = re.compile(r"<?([0-9a-f]{12}7[0-9a-f]{19})@[^\s@<>]+>?", re.IGNORECASE)
_REPLY_CODE = re.compile(r"[245]\d\d")


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """A text and what it can be taken for, the likeliest first."""

    text: str
    meanings: tuple[str, ...]


def recognise(q: str) -> Typed:
    """What a text can be taken for. `kind:welcome` says so itself; a single word may be a key, a kind or a tag."""
    text = q.strip()
    prefix, colon, rest = text.partition(":")
    if colon and rest.strip() and (named := _PREFIXES.get(prefix.lower())):
        return _named(named, rest.strip(), text)
    if (id := email_id(text)) is not None:
        return Typed(text=id, meanings=("id",))
    if (id := id_in_message_id(text)) is not None:
        return Typed(text=id, meanings=("message_id",))
    if _REPLY_CODE.fullmatch(text):
        return Typed(text=text, meanings=("reply_code",))
    if any(letter.isspace() for letter in text):
        return Typed(text=text, meanings=("subject",))
    if "@" in text.strip("@") and not colon:
        return Typed(text=text.strip("<>"), meanings=("recipient", "key"))
    return Typed(text=text, meanings=("key", "kind", "tag", "subject"))


def _named(meaning: str, rest: str, text: str) -> Typed:
    """A key may itself begin with `to:` or `kind:`, so it is tried as well."""
    if meaning == "id":
        id = email_id(rest)
        return Typed(text=id, meanings=("id",)) if id else Typed(text=text, meanings=("key",))
    if meaning == "reply_code" and not _REPLY_CODE.fullmatch(rest):
        return Typed(text=text, meanings=("key", "subject"))
    return Typed(text=rest, meanings=(meaning,))


def email_id(text: str) -> EmailId | None:
    """An id in its canonical spelling; None when it is none."""
    try:
        return EmailId(str(UUID(text)))
    except ValueError:
        return None


def id_in_message_id(text: str) -> EmailId | None:
    """The id inside a Message-ID of ours; None when it is not one."""
    found = _MESSAGE_ID.fullmatch(text)
    return EmailId(str(UUID(found[1]))) if found else None

"""What goes into a box, and what stands in its place."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from postroom.compose.edition import write_edition
from postroom.compose.frozen import APART, Frozen
from postroom.compose.late import LATE, is_late
from postroom.errors import UnreadableEmail
from postroom.sealing.keyring import Keyring
from postroom.vocabulary import SENSITIVE, EmailId

_LENGTH = 4
"""Octets that say how long the words of a box are; behind them are the attachments."""
_BOX = "box."
"""What the names of boxes begin with; those of attachments are digests, in hexadecimal."""

ERASED = "its content was erased, as that of sensitive emails is when they are finished; send a new one"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """What was in a box: a letter as a store keeps it."""

    subject: str
    envelope: str
    text: str | None
    html: str | None
    attachments: Mapping[str, bytes]


def is_apart(envelope: str) -> bool:
    """Whether an envelope says that the content is in a box."""
    return envelope.removeprefix(LATE).startswith(APART)


def is_box(digest: str) -> bool:
    """Whether what attachments are kept under is the name of a box."""
    return digest.startswith(_BOX)


def put_apart(letter: Frozen, *, id: EmailId, keyring: Keyring, version: int = 1) -> Frozen:
    """The letter with its content in a box, and in its place whom it is for, and which template it is of.

    Its fingerprint is one of the recipients alone: nobody can try out what it says, with or without a key.
    """
    name = _name(id, version, letter.envelope)
    # The name of the box comes first: a fingerprint is made of what follows the first comma.
    late = LATE if is_late(letter.envelope) else ""
    edition = f"{write_edition(letter.edition)}," if letter.edition else ""
    to = json.dumps(letter.recipients)
    outside = f'{late}{APART}{{"attachments":[{{"digest":"{name}"}}],{edition}"to":{to}}}'
    return Frozen(
        subject=SENSITIVE,
        message_id=letter.message_id,
        envelope=outside,
        text=None,
        html=None,
        size=letter.size,
        recipients=letter.recipients,
        attachments=((name, keyring.close(_packed(letter), id=id, version=version)),),
        tags=letter.tags,
        edition=letter.edition,
    )


def opened(
    attachments: Mapping[str, bytes], *, id: EmailId, version: int, keyring: Keyring, envelope: str = ""
) -> Opened:
    """What the box of an email holds; `UnreadableEmail` where there is none, or it cannot be opened.

    `envelope` stands outside: the box of an email that is not rendered yet has a name of its own.
    """
    box = attachments.get(_name(id, version, envelope))
    if box is None:
        raise UnreadableEmail(id, ERASED)
    return _unpacked(keyring.open(box, id=id, version=version))


def _name(id: EmailId, version: int, envelope: str) -> str:
    """Of an email that is rendered later another one: what is in a box is never changed, only replaced."""
    return f"{_BOX}{id}.{version}.late" if is_late(envelope) else f"{_BOX}{id}.{version}"


def _packed(letter: Frozen) -> bytes:
    carried = [(digest, len(content)) for digest, content in letter.attachments]
    words = json.dumps([letter.subject, letter.envelope, letter.text, letter.html, carried]).encode()
    return b"".join([len(words).to_bytes(_LENGTH), words, *(content for _, content in letter.attachments)])


def _unpacked(content: bytes) -> Opened:
    start = _LENGTH + int.from_bytes(content[:_LENGTH])
    subject, envelope, text, html, carried = json.loads(content[_LENGTH:start])
    attachments = {}
    for digest, size in carried:
        attachments[digest] = content[start : start + size]
        start += size
    return Opened(subject=subject, envelope=envelope, text=text, html=html, attachments=attachments)

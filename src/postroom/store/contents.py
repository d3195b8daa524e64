"""What an email says: its versions, and the attachments it shares with others."""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

from postroom.compose import Letter
from postroom.compose.frozen import outside
from postroom.errors import SensitiveEmail, UnreadableEmail
from postroom.store.order import tags_in
from postroom.store.plan import Plan, Rows, ask, ask_binary
from postroom.store.unreadable import DAMAGE, GONE
from postroom.vocabulary import EmailId

SHOWN_NOWHERE = "it is sensitive, and what it says is shown nowhere, to nobody"

BLOCK = 1 << 16
"""Octets of a large content looked at in one go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What a large email says and carries, in octets: as a text it would take up to four times the memory."""

    text: bytes | None
    html: bytes | None
    attachments: Mapping[str, bytes]


def read_letter(id: EmailId, version: int) -> Plan[Letter]:
    """One version of an email as it is, or would be, sent; `UnreadableEmail` when it is damaged or gone.

    What a sensitive email says is told to nobody: `SensitiveEmail`.
    """
    rows = yield ask("content", id=id, version=version)
    if not rows:
        raise UnreadableEmail(id, GONE)
    [[subject, message_id, envelope, text, html, terms, sensitive]] = rows
    if sensitive:
        raise SensitiveEmail("show", id, SHOWN_NOWHERE, "ask those it is for")
    contents = yield from read_attachments(digests_in(envelope))
    try:
        letter = Letter.thaw(
            subject=subject, message_id=message_id, envelope=envelope, text=text, html=html, attachments=contents
        )
        return replace(letter, tags=tags_in(terms))
    except DAMAGE as error:
        problem = "its content is damaged, or of a newer version; restore it from a backup, or dismiss the email"
        raise UnreadableEmail(id, problem) from error


def read_content(id: EmailId, version: int, envelope: str) -> Plan[Content]:
    """The content of an email that was claimed without it.

    Raises `UnreadableEmail` where it is gone, and `ValueError` where it cannot be read.
    """
    bodies = _joined((yield ask_binary("bodies", id=id, version=version)))
    if not bodies:
        raise UnreadableEmail(id, GONE)
    for body in bodies.values():
        _check_utf8(body or b"")
    digests, attachments = digests_in(envelope), dict[str, bytes | None]()
    if digests:
        attachments = _joined((yield ask_binary("attachment_pieces", digests=digests)))
    return Content(
        text=bodies["text"],
        html=bodies["html"],
        attachments={digest: content for digest, content in attachments.items() if content is not None},
    )


def _joined(rows: Rows) -> dict[str, bytes | None]:
    """Contents by name, from rows that each bring a piece of one and where it starts."""
    pieces: dict[str, list[bytes | None]] = {}
    for name, _start, piece in sorted(rows, key=itemgetter(1)):
        pieces.setdefault(name, []).append(piece)
    return {name: None if None in some else b"".join(filter(None, some)) for name, some in pieces.items()}


def _check_utf8(octets: bytes) -> None:
    """Raise where a text cannot be read, without making one of it."""
    if not octets.isascii():
        decoder = getincrementaldecoder("utf-8")()
        for start in range(0, len(octets), BLOCK):
            decoder.decode(octets[start : start + BLOCK], start + BLOCK >= len(octets))


def read_attachments(digests: Sequence[str]) -> Plan[dict[str, bytes]]:
    """Contents by digest; nothing is asked where nothing is carried."""
    if not digests:
        return {}
    rows = yield ask("attachments", digests=list(digests))
    return {digest: bytes(content) for digest, content in rows}


def carries(envelope: str) -> bool:
    """Whether an envelope names attachments, told without parsing it: inside JSON strings quotes are escaped."""
    return '"attachments":' in envelope


def digests_in(envelope: str) -> list[str]:
    """The attachments an envelope names; none when it cannot be read, which whoever needs them will find out."""
    if not carries(envelope):
        return []
    try:
        return [attachment["digest"] for attachment in outside(envelope).get("attachments", ())]
    except DAMAGE:
        return []

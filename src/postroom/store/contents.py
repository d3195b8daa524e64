"""What an email says: its versions, and the attachments it shares with others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from postroom.compose import Letter
from postroom.errors import UnreadableEmail
from postroom.store.order import tags_in
from postroom.store.plan import Plan, ask
from postroom.store.unreadable import DAMAGE, GONE
from postroom.vocabulary import EmailId


def read_letter(id: EmailId, version: int) -> Plan[Letter]:
    """One version of an email as it is, or would be, sent; `UnreadableEmail` when it is damaged or gone."""
    rows = yield ask("content", id=id, version=version)
    if not rows:
        raise UnreadableEmail(id, GONE)
    [[subject, message_id, envelope, text, html, terms]] = rows
    contents = yield from read_attachments(digests_in(envelope))
    try:
        letter = Letter.thaw(
            subject=subject, message_id=message_id, envelope=envelope, text=text, html=html, attachments=contents
        )
        return replace(letter, tags=tags_in(terms))
    except DAMAGE as error:
        problem = "its content is damaged, or of a newer version; restore it from a backup, or dismiss the email"
        raise UnreadableEmail(id, problem) from error


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
        return [attachment["digest"] for attachment in json.loads(envelope).get("attachments", ())]
    except DAMAGE:
        return []

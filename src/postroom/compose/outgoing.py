"""A stored letter as a server is given it: envelope and octets, by the shortest way there is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from postroom.compose.address import Mailbox
from postroom.compose.frozen import decode
from postroom.compose.letter import Letter
from postroom.compose.mime import Bodies, write_message, write_note

_OF_A_NOTE = frozenset({"date", "sender", "to"})
_OF_A_TEMPLATE = _OF_A_NOTE | {"edition"}


class Outgoing(NamedTuple):
    """What the server is told, and what it is given."""

    sender: str
    """The reverse path."""
    recipients: tuple[str, ...]
    message: bytes
    needs_smtputf8: bool


def outgoing(
    *,
    subject: str,
    message_id: str,
    envelope: str,
    text: str | bytes | None,
    html: str | bytes | None,
    attachments: Mapping[str, bytes],
) -> Outgoing:
    """What `Letter.thaw` of the same gives: the same octets, for most emails without making a letter first.

    Text and HTML may be given as their UTF-8.
    """
    stored = decode(envelope)
    if text and html and (stored.keys() == _OF_A_NOTE or stored.keys() == _OF_A_TEMPLATE):
        sender, recipient = _only(stored["sender"]), _only(stored["to"])
        if sender and recipient:
            message = write_note(
                message_id=message_id,
                seconds=stored["date"] // 1_000_000,
                sender=sender,
                recipient=recipient,
                subject=subject,
                text=text,
                html=html,
            )
            return Outgoing(sender[1], (recipient[1],), message, False)
    letter = Letter.thaw(
        subject=subject, message_id=message_id, envelope=envelope, text=None, html=None, attachments=attachments
    )
    message = write_message(letter, Bodies(text, html))
    return Outgoing(letter.sender_address, letter.recipients, message, letter.needs_smtputf8)


def _only(stored: list[Any]) -> Mailbox | None:
    """The one address there is, provided that every server can carry it."""
    if len(stored) != 1:
        return None
    [only] = stored
    mailbox = ("", only) if isinstance(only, str) else tuple(only)
    return mailbox if mailbox[1].isascii() else None

"""Email as a channel: letters over SMTP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from postroom.channels.contract import Channel, Prepare
from postroom.compose import Address, Email, Frozen, Letter, Limits
from postroom.compose.outgoing import outgoing
from postroom.compose.return_path import ReturnPath
from postroom.send.contract import Envelope
from postroom.settle.smtp.classify import classify
from postroom.vocabulary import EmailId

if TYPE_CHECKING:
    from postroom.send.smtp import SmtpTransport


def freeze(email: Email, *, id: EmailId, date: datetime, default_sender: Address, limits: Limits) -> Frozen:
    """The letter, as a store keeps it."""
    return Letter.compose(email, id=id, date=date, default_sender=default_sender).freeze_within(limits)


def prepare(
    *,
    id: EmailId,
    subject: str,
    message_id: str,
    envelope: str,
    text: str | bytes | None,
    html: str | bytes | None,
    attachments: Mapping[str, bytes],
    only: tuple[str, ...] | None,
) -> Envelope:
    """What the mail server is told, and the message's octets."""
    letter = outgoing(
        subject=subject, message_id=message_id, envelope=envelope, text=text, html=html, attachments=attachments
    )
    return Envelope(
        sender=letter.sender,
        recipients=letter.recipients if only is None else only,
        message=letter.message,
        smtputf8=letter.needs_smtputf8,
        id=id,
    )


def returning_to(path: ReturnPath) -> Prepare:
    """`prepare` for emails that come back to an address which names each of them. Who is from nobody stays so."""

    def prepare_returning(*, id: EmailId, **content: Any) -> Envelope:
        envelope = prepare(id=id, **content)
        return replace(envelope, sender=path.sender(id)) if envelope.sender else envelope

    return prepare_returning


def correct(letter: Letter, corrections: Mapping[str, Any], /, *, id: EmailId, limits: Limits) -> Frozen:
    """Other recipients, another subject, other bodies; an invite is readdressed."""
    return letter.corrected(**corrections).freeze_within(limits)


def over_smtp(url: str, given: Mapping[str, Any]) -> SmtpTransport:
    """A mail server by its URL, which says everything."""
    from postroom.send.smtp import SmtpTransport  # with sockets and TLS, which nobody needs who only enqueues

    return SmtpTransport(url)


EMAIL = Channel(
    name="email",
    payload=Email,
    freeze=freeze,
    prepare=prepare,
    classify=classify,
    transports={"smtp": over_smtp, "smtps": over_smtp},
    route="default",
    correct=correct,
)

"""Text messages as a channel: through an HTTP gateway."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from postroom.channels.contract import Channel
from postroom.channels.correcting import only_recipient, refuse_others
from postroom.compose import Address, Frozen, Letter, Limits, Sms
from postroom.compose.frozen import recipients_in
from postroom.errors import ConfigurationError
from postroom.send.contract import Transport
from postroom.send.twilio.message import Message
from postroom.settle.twilio import classify
from postroom.vocabulary import EmailId


def freeze(sms: Sms, *, id: EmailId, date: datetime, default_sender: Address, limits: Limits) -> Frozen:
    """The number and the text."""
    return sms.freeze(id=id, date=date, limits=limits)


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
) -> Message:
    """What the gateway is told."""
    [to] = recipients_in(envelope)
    return Message(to=to, text=text.decode() if isinstance(text, bytes) else text or "")


def over_twilio(url: str, given: Mapping[str, Any]) -> Transport:
    """`twilio://`; the account, its secret and the sender stand in the URL."""
    try:
        from postroom.send.twilio.account import Account
        from postroom.send.twilio.transport import TwilioTransport
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("httpcore2", "anyio"):
            raise
        raise ConfigurationError("text messages need the package httpcore2; pip install 'postroom[sms]'") from error
    return TwilioTransport(Account.parse(url, given))


def correct(letter: Letter, corrections: Mapping[str, Any], /, *, id: EmailId, limits: Limits) -> Frozen:
    """Another number, or another text."""
    refuse_others("sms", corrections, "to", "text")
    to = only_recipient(corrections.get("to", letter.recipients))
    return Sms(to=to, text=corrections.get("text", letter.text)).freeze(id=id, date=letter.date, limits=limits)


SMS = Channel(
    name="sms",
    payload=Sms,
    freeze=freeze,
    prepare=prepare,
    classify=classify,
    transports={"twilio": over_twilio, "twilio+http": over_twilio},
    route="sms",
    correct=correct,
)

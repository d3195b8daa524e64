"""Webhooks as a channel: signed requests over HTTP."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from postroom.channels.contract import Channel
from postroom.channels.correcting import only_recipient, refuse_others
from postroom.compose import Address, Frozen, Letter, Limits, Webhook
from postroom.compose.frozen import decode
from postroom.errors import ConfigurationError
from postroom.send.contract import Transport
from postroom.send.webhook.delivery import Delivery
from postroom.settle.http import classify
from postroom.vocabulary import EmailId

if TYPE_CHECKING:
    from postroom.send.webhook.transport import WebhookTransport

_KIND = "a webhook: URL"


def freeze(webhook: Webhook, *, id: EmailId, date: datetime, default_sender: Address, limits: Limits) -> Frozen:
    """The body is written once, here."""
    return webhook.freeze(id=id, date=date, limits=limits)


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
) -> Delivery:
    """The request without its signature, which every attempt has anew."""
    stored = decode(envelope)
    [url] = stored["to"]
    return Delivery(
        url=url,
        id=message_id,
        body=text if isinstance(text, bytes) else (text or "").encode(),
        headers=tuple([(name, value) for name, value in stored.get("headers", ())]),
    )


def over_http(url: str, given: Mapping[str, Any]) -> Transport:
    """`webhook:`, with limits and `ca` as options; secrets and networks stand in the settings, beside it."""
    try:
        return _transport(url, given)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("httpcore2", "anyio"):
            raise
        raise ConfigurationError("webhooks need the package httpcore2; pip install 'postroom[webhooks]'") from error


def _transport(url: str, given: Mapping[str, Any]) -> WebhookTransport:
    from postroom.send.http.limits import refuse_unknown, take_connections, take_limits, take_rate
    from postroom.send.webhook.transport import CONNECTIONS, WebhookTransport

    place, _, query = url.partition(":")[2].partition("?")
    if place.strip("/"):
        raise ConfigurationError(f"{_KIND} names no host: each webhook has a URL of its own; write webhook:")
    options = dict(parse_qsl(query, keep_blank_values=True))
    limits, connections = take_limits(options, _KIND), take_connections(options, given, _KIND, CONNECTIONS)
    rate, ca = take_rate(options, given, _KIND), options.pop("ca", None)
    refuse_unknown(options, _KIND, ("ca",))
    return WebhookTransport(
        secrets=given.get("secrets", ()),
        secrets_for=given.get("secrets_for", {}),
        allow=given.get("allow", ()),
        connections=connections,
        rate=rate,
        limits=limits,
        ca=ca,
    )


def correct(letter: Letter, corrections: Mapping[str, Any], /, *, id: EmailId, limits: Limits) -> Frozen:
    """Another URL for the same event."""
    refuse_others("webhook", corrections, "to")
    webhook = Webhook(
        url=only_recipient(corrections["to"]),
        event=letter.subject,
        data=json.loads(letter.text or "{}")["data"],
        headers=letter.headers,
    )
    return webhook.freeze(id=id, date=letter.date, limits=limits)


WEBHOOK = Channel(
    name="webhook",
    payload=Webhook,
    freeze=freeze,
    prepare=prepare,
    classify=classify,
    transports={"webhook": over_http},
    route="webhooks",
    always="webhook:",
    correct=correct,
)

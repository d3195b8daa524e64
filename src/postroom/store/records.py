"""Stored emails as plain data: what `--json`, the archive and the API show."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from postroom.store.changes import Event
from postroom.store.contract import StoredEmail
from postroom.vocabulary import Priority


def as_record(email: StoredEmail) -> dict[str, Any]:
    """Everything about an email but its content, in JSON's types; instants in ISO 8601, UTC."""
    return {name: _plain(value) for name, value in asdict(email).items()}


def as_archive(
    email: StoredEmail, *, envelope: str | None, text: str | None, html: str | None, attachments: Mapping[str, bytes]
) -> dict[str, Any]:
    """Everything about an email, its content included, so that it can be read when the outbox has forgotten it."""
    return as_record(email) | {
        "envelope": envelope,
        "text": text,
        "html": html,
        "attachments": {digest: b64encode(content).decode() for digest, content in attachments.items()},
    }


def _plain(value: Any) -> Any:
    match value:
        case Priority():
            return value.label
        case datetime():
            return value.isoformat().replace("+00:00", "Z")
        case dict():
            return {name: _plain(each) for name, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
        case _:
            return value


def event_record(event: Event) -> dict[str, Any]:
    """One line of the stream."""
    return {
        "id": str(event.id),
        "at": event.at.isoformat(),
        "event": event.change.value,
        "email_id": event.email_id,
        "attempts": event.attempts,
        "kind": event.kind,
        "workspace": event.workspace,
        "route": event.route,
        "channel": event.channel,
        "key": event.key,
    }

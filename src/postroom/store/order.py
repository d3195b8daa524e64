"""An email on its way into the outbox: the letter, and what its sender wants done with it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from postroom.compose.letter import Frozen
from postroom.vocabulary import EmailId, OnDoubt, Priority, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """An owner from the start: for a process that sends the email itself, at once."""

    worker: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Everything one enqueue writes, decided and validated."""

    id: EmailId
    letter: Frozen
    policy: str
    max_attempts: int
    priority: Priority = Priority.NORMAL
    key: str | None = None
    not_before: datetime | None = None
    expires_at: datetime | None = None
    kind: str = ""
    workspace: str = ""
    sensitive: bool = False
    on_doubt: OnDoubt = OnDoubt.RESEND
    channel: str = "email"
    lease: Lease | None = None

    @property
    def status(self) -> Status:
        return Status.SENDING if self.lease else Status.PENDING

    def terms(self) -> list[str]:
        """What it can be found by."""
        return terms(self.letter, kind=self.kind, workspace=self.workspace)

    def as_plain_row(self) -> dict[str, Any]:
        """In the names of the `enqueue_one` query: for an order without key, lease and attachments."""
        letter = self.letter
        return {
            "id": self.id,
            "priority": int(self.priority),
            "due_at": self.not_before,
            "max_attempts": self.max_attempts,
            "policy": self.policy,
            "on_doubt": self.on_doubt.value,
            "sensitive": self.sensitive,
            "channel": self.channel,
            "kind": self.kind,
            "workspace": self.workspace,
            "expires_at": self.expires_at,
            "subject": letter.subject,
            "message_id": letter.message_id,
            "envelope": letter.envelope,
            "text": letter.text,
            "html": letter.html,
            "size": letter.size,
            "terms": self.terms(),
        }

    def as_row(self) -> dict[str, Any]:
        """In the names of the `enqueue` query."""
        letter = self.letter
        return {
            "id": self.id,
            "status": self.status,
            "priority": int(self.priority),
            "due_at": self.not_before,
            "max_attempts": self.max_attempts,
            "lease_seconds": self.lease.seconds if self.lease else None,
            "worker": self.lease.worker if self.lease else None,
            "policy": self.policy,
            "on_doubt": self.on_doubt,
            "sensitive": self.sensitive,
            "channel": self.channel,
            "kind": self.kind,
            "workspace": self.workspace,
            "key": self.key,
            "expires_at": self.expires_at,
            "fingerprint": letter.fingerprint if self.key else None,
            "subject": letter.subject,
            "message_id": letter.message_id,
            "envelope": letter.envelope,
            "text": letter.text,
            "html": letter.html,
            "size": letter.size,
            "terms": self.terms(),
            "attachments": [digest for digest, _ in letter.attachments],
        }


def terms(letter: Frozen, *, kind: str, workspace: str) -> list[str]:
    """What an email can be found by, each with what it is."""
    if len(letter.recipients) == 1 and not (letter.tags or kind or workspace):
        return [recipient_term(letter.recipients[0])]
    found = dict.fromkeys(recipient_term(address) for address in letter.recipients)
    found.update(dict.fromkeys(f"tag:{tag}" for tag in letter.tags))
    if kind:
        found[f"kind:{kind}"] = None
    if workspace:
        found[f"workspace:{workspace}"] = None
    return list(found)


def recipient_term(address: str) -> str:
    """Addresses are found in any case, although a local part may in theory have one."""
    return f"to:{address.lower()}"


def tags_in(terms: str) -> tuple[str, ...]:
    """The tags among stored terms."""
    return tuple(term.removeprefix("tag:") for term in json.loads(terms) if term.startswith("tag:"))

"""An email on its way into the outbox: the letter, and what its sender wants done with it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from json.encoder import encode_basestring as in_quotes
from typing import Any

from postroom.compose.letter import Frozen
from postroom.store.fields import GIVEN, GIVEN_CONTENT, given_by_name
from postroom.vocabulary import DEFAULT_ROUTE, EmailId, OnDoubt, Priority, Status

_given = given_by_name((*GIVEN, *GIVEN_CONTENT))


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """An owner from the start: for a process that sends the email itself, at once."""

    worker: str
    seconds: float


@dataclass(slots=True, kw_only=True)  # not frozen: every email has one, and making it would take twice as long
class Order:
    """Everything one enqueue writes, decided and validated. Nobody changes one."""

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
    unsubscribable: bool = False
    on_doubt: OnDoubt = OnDoubt.RESEND
    channel: str = "email"
    route: str = DEFAULT_ROUTE
    lease: Lease | None = None

    @property
    def status(self) -> Status:
        return Status.SENDING if self.lease else Status.PENDING

    def terms(self) -> list[str]:
        """What it can be found by."""
        return terms(self.letter, kind=self.kind, workspace=self.workspace, route=self.route)

    def as_plain_row(self) -> dict[str, Any]:
        """In the names of the `enqueue_one` query: for an order without key, lease and attachments."""
        row = _given(self)
        row["id"] = self.id
        row["due_at"] = self.not_before
        row["terms"] = written(self.terms())
        row["addresses"] = written([address.lower() for address in self.letter.recipients])
        return row

    def as_row(self) -> dict[str, Any]:
        """In the names of the `enqueue` query."""
        row = self.as_plain_row()
        del row["addresses"]  # those among the terms will do
        row["terms"] = self.terms()
        row["status"] = self.status
        row["lease_seconds"] = self.lease.seconds if self.lease else None
        row["worker"] = self.lease.worker if self.lease else None
        row["key"] = self.key
        row["fingerprint"] = self.letter.fingerprint if self.key else None
        row["attachments"] = [digest for digest, _ in self.letter.attachments]
        return row


def terms(letter: Frozen, *, kind: str, workspace: str, route: str) -> list[str]:
    """What an email can be found by, each with what it is. Nearly all share the default route: that is no term."""
    if (
        len(letter.recipients) == 1
        and route == DEFAULT_ROUTE
        and not (letter.tags or kind or workspace or letter.edition)
    ):
        return [recipient_term(letter.recipients[0])]
    found = dict.fromkeys(recipient_term(address) for address in letter.recipients)
    found.update(dict.fromkeys(f"tag:{tag}" for tag in letter.tags))
    if kind:
        found[f"kind:{kind}"] = None
    if workspace:
        found[f"workspace:{workspace}"] = None
    if route != DEFAULT_ROUTE:
        found[f"route:{route}"] = None
    if letter.edition is not None:
        found.update(dict.fromkeys(letter.edition.terms()))
    return list(found)


def written(terms: list[str]) -> str:
    """Terms as JSON."""
    return f"[{','.join(map(in_quotes, terms))}]"


def recipient_term(address: str) -> str:
    """Addresses are found in any case, although a local part may in theory have one."""
    return f"to:{address.lower()}"


def tags_in(terms: str) -> tuple[str, ...]:
    """The tags among stored terms."""
    return tuple(term.removeprefix("tag:") for term in json.loads(terms) if term.startswith("tag:"))

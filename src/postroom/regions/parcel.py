"""An email on its way from one database to another: all that is its own, in a form that either database can read.

Rows are taken as they are, column by column, as `store/fields.py` declares them: a column that an email gets later
travels as well, without anybody having to think of it here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from postroom.compose.frozen import recipients_in
from postroom.store.contract import moment
from postroom.store.fields import CONTENT, STATE, Field
from postroom.store.order import recipient_term
from postroom.store.plan import Plan, Row
from postroom.store.unreadable import DAMAGE
from postroom.vocabulary import DEFAULT_ROUTE, EmailId, Status

Values = Mapping[str, Any]
"""A row by the names of its columns, instants as datetimes."""

LISTED = 100
"""Emails that one line of a record names; how many there were is told beside them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mover:
    """Who moves somebody, and how that is put on record, in the transaction that it tells of."""

    name: str
    record: Callable[..., Plan[None]] = field(repr=False)
    """A plan that writes down what it is told by name. No address is among it: the record stays in both regions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Departure:
    """An email that has left and, as far as is known here, has not arrived."""

    id: EmailId
    move: str
    """By which move; the answer of the other region is about this one only."""
    state: Values
    """Its row of `emails`."""
    size: int = 0
    """About how many octets it takes."""

    @property
    def name(self) -> dict[str, str]:
        """What both databases know it by."""
        return {"email_id": self.id, "move": self.move}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """One email with all that belongs to it but what it shares: its attachments."""

    departure: Departure
    contents: tuple[Values, ...]
    """Every version of what it says."""
    terms: tuple[str, ...]
    """What it is found by."""
    digests: tuple[str, ...]
    """What it carries."""
    key: Values | None
    """Its idempotency key, with the fingerprint that tells whether a duplicate says the same."""
    events: tuple[Values, ...]
    """Its history, oldest first."""

    @property
    def id(self) -> EmailId:
        return self.departure.id


@dataclass(frozen=True, slots=True, kw_only=True)
class Shipment:
    """Emails that travel together."""

    parcels: tuple[Parcel, ...]
    attachments: Mapping[str, bytes] = field(repr=False)
    """By digest."""


def state_in(row: Row) -> dict[str, Any]:
    """A row of `emails`, as either database gives it."""
    return values_in(STATE, row)


def content_in(row: Row) -> dict[str, Any]:
    """A row of `contents`: email, version, and what it says."""
    id, version, *rest = row
    return {"email_id": id, "version": version, **values_in(CONTENT, rest)}


def values_in(fields: Sequence[Field], row: Row) -> dict[str, Any]:
    return {each.name: _value(each, found) for each, found in zip(fields, row, strict=True)}


def _value(field: Field, found: Any) -> Any:
    if found is None:
        return None
    match field.type:
        case "timestamptz":
            return datetime.fromisoformat(found) if isinstance(found, str) else moment(found)
        case "boolean":
            return bool(found)
        case _:
            return found


def written(state: Values) -> str:
    """A row of state as a text that any release and either database can read."""
    return json.dumps(dict(state), default=datetime.isoformat, ensure_ascii=False)


def read(text: str) -> dict[str, Any]:
    """The same back. A column that is younger than the text is missing in it."""
    found = json.loads(text)
    return {each.name: _value(each, found.get(each.name, each.absent)) for each in STATE}


def given_back(state: Values) -> dict[str, Any]:
    """A row that nobody holds: what was handed to a broker waits again, and messages that name it find nothing."""
    if state["status"] != Status.QUEUED:
        return dict(state)
    waits = Status.IN_DOUBT if state["doubts"] else Status.RETRYING if state["attempts"] else Status.PENDING
    return {**state, "status": waits.value, "leased_until": None, "worker": None, "dot_noted_at": None}


def may_be_told_of(state: Values) -> bool:
    """Whether the journal of a worker that is gone may yet tell that this email was accepted after all."""
    return state["status"] == Status.IN_DOUBT and state["takeovers"] > 0 and state["due_at"] is not None


def as_it_arrives(state: Values) -> dict[str, Any]:
    """A row as the other region takes it in.

    What is in doubt because its worker died waits there for a person, whatever its policy: the journal that may know
    more stays behind, and nobody would hear what it says.
    """
    return {**state, "due_at": None} if may_be_told_of(state) else dict(state)


def terms_in(contents: Sequence[Values], route: str) -> set[str]:
    """What an email may be found by: what each version says, whom it is for, and the route that it was moved to since.

    Not all of them need be there; and of a content that is damaged only what can be read is known.
    """
    found = set[str]()
    for content in contents:
        with suppress(*DAMAGE):
            found.update(map(str, json.loads(content["terms"])))
        found.update(recipient_term(address) for address in addresses_in(content["envelope"]))
    return found | ({f"route:{route}"} if route != DEFAULT_ROUTE else set())


def addresses_in(envelope: str | None) -> tuple[str, ...]:
    """Whom an email is for; nobody where that cannot be read."""
    try:
        return recipients_in(envelope) if envelope else ()
    except DAMAGE:
        return ()

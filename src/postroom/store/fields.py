"""The fields of an email, each declared once.

What an enqueue writes, what a claim and a listing read, and the lists of columns in the two folders of queries are made
from the tables below; `{state}`, `{given}`, `{content}`, `{claimed_fields}`, `{claimed_state}`, `{stored_fields}`,
`{whole_state}` and `{whole_content}` in those files are the fragments made here. A new field of an email is a line
here, a migration (of `emails` and of `dismissed`), and its place in the values that speak of it: in `Order` if it is
given, in `Claimed` if an attempt needs it, in `StoredEmail` if people are told it. A forgotten place is named by
`tests/store/test_fields.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from postroom.store.contract import moment
from postroom.store.unreadable import Words
from postroom.vocabulary import DeadReason, OnDoubt, Priority, Status

Reader = Callable[[Any], Any] | Mapping[Any, Any]
"""What a driver's value means: a function of it, or, ten times as quick as calling an enum, a place to look it up."""

STATUSES, PRIORITIES = Words(Status), Words(Priority)
DEAD_REASONS, ON_DOUBT = Words(DeadReason), Words(OnDoubt)


def document(text: str | None) -> Any:
    """A JSON object, where there is one."""
    found = json.loads(text) if text else None
    if found is not None and not isinstance(found, dict):
        raise ValueError("expected an object")
    return found


@dataclass(frozen=True, slots=True)
class Field:
    """One column of an email."""

    name: str
    type: str
    """PostgreSQL's; SQLite does not ask."""
    given: str | None = None
    """Where an `Order` has it, when it is stored just as it was given."""
    read: Reader | None = None
    claimed: bool = False
    """An attempt needs it. Of what an email says, see `claimed_columns` in `queries/shared.sql`."""
    stored: bool = False
    """Whoever lists or looks at emails is told it, or something that is made of it."""
    absent: Any = None
    """What it was for emails that were written down before there was such a column."""

    def value(self, found: Any) -> Any:
        """What a driver's value means."""
        if self.read is None:
            return found
        return self.read(found) if callable(self.read) else self.read[found]

    def reading(self) -> str:
        """The same as an expression over its column and the `readers`."""
        if self.read is None:
            return self.name
        return f"read_{self.name}({self.name})" if callable(self.read) else f"read_{self.name}[{self.name}]"


STATE = (
    Field("id", "uuid", claimed=True, stored=True),
    Field("status", "text", read=STATUSES, stored=True),
    Field("priority", "smallint", given="priority._value_", read=PRIORITIES, claimed=True, stored=True),
    Field("due_at", "timestamptz", read=moment, claimed=True, stored=True),
    Field("attempts", "integer", claimed=True, stored=True),
    Field("max_attempts", "integer", given="max_attempts", claimed=True, stored=True),
    Field("lease_token", "bigint", claimed=True),
    Field("leased_until", "timestamptz", read=moment, claimed=True, stored=True),
    Field("worker", "text", stored=True),
    Field("dot_noted_at", "timestamptz", claimed=True),
    Field("doubts", "smallint", claimed=True, stored=True),
    Field("takeovers", "smallint", claimed=True, stored=True),
    Field("version", "smallint", claimed=True, stored=True),
    Field("policy", "text", given="policy", claimed=True, stored=True),
    Field("on_doubt", "text", given="on_doubt._value_", read=ON_DOUBT, claimed=True, stored=True),
    Field("sensitive", "boolean", given="sensitive", read=bool, claimed=True, stored=True),
    Field("channel", "text", given="channel", claimed=True, stored=True),
    Field("route", "text", given="route", claimed=True, stored=True),
    Field("kind", "text", given="kind", claimed=True, stored=True),
    Field("workspace", "text", given="workspace", claimed=True, stored=True),
    Field("key", "text", stored=True),
    Field("created_at", "timestamptz", read=moment, claimed=True, stored=True),
    Field("expires_at", "timestamptz", given="expires_at", read=moment, claimed=True, stored=True),
    Field("last_attempt_at", "timestamptz", read=moment, stored=True),
    Field("last_queued_at", "timestamptz", read=moment, stored=True),
    Field("sent_at", "timestamptz", read=moment, stored=True),
    Field("finished_at", "timestamptz", read=moment, stored=True),
    Field("reply_code", "smallint", stored=True),
    Field("reply", "text", read=document, stored=True),
    Field("outcomes", "text", claimed=True, stored=True),
    Field("last_error", "text", stored=True),
    Field("dead_reason", "text", read=DEAD_REASONS, stored=True),
    Field("announced_at", "timestamptz"),
    Field("erased_at", "timestamptz", read=moment, stored=True),
    Field("unsubscribable", "boolean", given="unsubscribable", read=bool, claimed=True, stored=True, absent=False),
)
"""The columns of `emails`: where an email stands."""

CONTENT = (
    Field("subject", "text", given="letter.subject", claimed=True, stored=True),
    Field("message_id", "text", given="letter.message_id", claimed=True, stored=True),
    Field("envelope", "text", given="letter.envelope", claimed=True, stored=True),
    Field("text", "text", given="letter.text"),
    Field("html", "text", given="letter.html"),
    Field("size", "integer", given="letter.size", stored=True),
    Field("terms", "text", stored=True),
)
"""The columns of `contents`: what it says. Each version of an email has its own."""

GIVEN = tuple(field for field in STATE if field.given)
GIVEN_CONTENT = tuple(field for field in CONTENT if field.given)
CLAIMED = tuple(field for field in (*STATE, *CONTENT) if field.claimed)
STORED = tuple(field for field in (*STATE, *CONTENT) if field.stored)


def columns(fields: Sequence[Field]) -> tuple[str, ...]:
    """Their names."""
    return tuple(field.name for field in fields)


def readers(fields: Sequence[Field]) -> dict[str, Reader]:
    """What `reading` speaks of, by name."""
    return {f"read_{field.name}": field.read for field in fields if field.read is not None}


def given_in_order(fields: Sequence[Field]) -> Callable[[Any], tuple[Any, ...]]:
    """A function that takes these fields out of an `Order`, one after the other."""
    return attrgetter(*[field.given for field in fields if field.given])


def given_by_name(fields: Sequence[Field]) -> Callable[[Any], dict[str, Any]]:
    """A function that takes these fields out of an `Order`, by the names of their columns."""
    return written_out("order", "{" + ", ".join(f"{field.name!r}: order.{field.given}" for field in fields) + "}")


def written_out(parameters: str, expression: str, **known: Any) -> Callable[..., Any]:
    """A function from its text: for what is done with every email, where a loop over the fields takes twice as long.

    The text is ours from end to end: names of fields, and nothing that came from anywhere else.
    """
    return eval(f"lambda {parameters}: {expression}", known)  # type: ignore[no-any-return]  # noqa: S307


def fragments(dialect: str) -> dict[str, str]:
    """Lists of columns, parameters and members for a database's queries, by the names they have there."""
    found = {
        "state": ", ".join(columns(STATE)),
        "whole_state": _selected(STATE, dialect),
        "whole_content": ", ".join(columns(CONTENT)),
        "claimed_fields": _selected(CLAIMED, dialect),
        "claimed_state": ", ".join(field.name for field in STATE if field.claimed),
        "stored_fields": _selected(STORED, dialect),
    }
    for name, fields in (("given", GIVEN), ("content", GIVEN_CONTENT)):
        found[name] = ", ".join(columns(fields))
        found[f"{name}_parameters"] = ", ".join(_parameter(field, dialect) for field in fields)
    for name, fields in (("given", GIVEN), ("content", GIVEN_CONTENT), ("state", STATE), ("whole_content", CONTENT)):
        if dialect == "postgres":
            found[f"{name}_record"] = ", ".join(f"{field.name} {field.type}" for field in fields)
        else:
            found[f"{name}_members"] = ", ".join(f"json_extract(value, '$.{field.name}')" for field in fields)
    return found


def _selected(fields: Sequence[Field], dialect: str) -> str:
    """As a SELECT has them, `e` being the email and `c` its content. Drivers differ about UUIDs, not about text."""
    return ", ".join(
        f"{'c' if field in CONTENT else 'e'}.{field.name}"
        + ("::text" if (dialect, field.type) == ("postgres", "uuid") else "")
        for field in fields
    )


def _parameter(field: Field, dialect: str) -> str:
    if dialect == "sqlite":
        return f":{field.name}"
    if field.type == "timestamptz":  # instants travel as text
        return f"(:{field.name}::text)::timestamptz"
    return f":{field.name}::{field.type}"

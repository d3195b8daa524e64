"""A field of an email is declared once: every place that has to know it does, or is named here."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from postroom import Email, Outbox
from postroom.outbox.submission import Submission
from postroom.store import claims
from postroom.store.contract import Claim, Claimed, StoredEmail
from postroom.store.enqueue import enqueue, enqueue_each
from postroom.store.fields import CLAIMED, CONTENT, GIVEN, GIVEN_CONTENT, STATE, STORED, Field, columns, fragments
from postroom.store.order import Order
from postroom.store.queries import ParameterStyle, Queries
from postroom.vocabulary import OnDoubt, Priority
from tests.store.journey import Clock

QUERIES = {
    "sqlite": Queries("postroom.store.sqlite", "postroom_", fragments("sqlite")),
    "postgres": Queries("postroom.store.postgres", "postroom.", fragments("postgres")),
}
WRITING = ("enqueue", "enqueue_one")
READING = {
    **dict.fromkeys(("claim", "claim_onto", "take_over", "claim_queued"), CLAIMED),
    **dict.fromkeys(("get", "archive"), STORED),
}

MADE_OF_OTHERS = {
    Claimed: {"claim": {"id", "lease_token"}, "dot_noted": {"dot_noted_at"}, "claimed_at": set(),
              "text": set(), "html": set(), "unloaded": set(),
              "previous_owner": set(), "somebody_stopped": set(), "attachments": set(), "inline": set(), "order": set(),
              "perhaps_stored": set()},
    StoredEmail: {"recipients": {"envelope", "outcomes"}, "next_attempt_at": {"due_at"}, "tags": {"terms"},
                  "edition": set(), "late": set(), "history": set(), "refused_recipients": set(), "unreadable": set()},
}  # fmt: skip
"""Of each value, the fields that are not simply a column, and the columns that only they are made of."""


def names_in(text: str) -> set[str]:
    return set(re.findall(r"[a-z_]+", text))


def texts(dialect: str, query: str) -> str:
    return "\n".join(spelled.sql for spelled in QUERIES[dialect].spell(query, ParameterStyle.NAMED))


@pytest.mark.parametrize("dialect", QUERIES)
@pytest.mark.parametrize("query", WRITING)
def test_every_given_field_is_in_every_statement_that_takes_emails_in(dialect: str, query: str) -> None:
    missing = {*columns(GIVEN), *columns(GIVEN_CONTENT)} - names_in(texts(dialect, query))

    assert missing == set()


@pytest.mark.parametrize("dialect", QUERIES)
@pytest.mark.parametrize("query", READING)
def test_every_statement_that_reads_emails_reads_the_declared_fields_in_their_order(dialect: str, query: str) -> None:
    selected = re.sub(r"::text", "", texts(dialect, query)).rpartition("SELECT e.id")[2]
    wanted = [("c." if field in CONTENT else "e.") + field.name for field in READING[query]]

    assert re.findall(r"[ec]\.[a-z_]+", "e.id" + selected)[: len(wanted)] == wanted


@pytest.mark.parametrize(("value", "fields"), [(Claimed, CLAIMED), (StoredEmail, STORED)])
def test_a_value_has_a_place_for_every_field_it_is_made_of(value: Any, fields: Sequence[Field]) -> None:
    derived = MADE_OF_OTHERS[value]
    places = {place.name for place in dataclasses.fields(value)}
    used_up = set().union(*derived.values())

    assert places == (set(columns(fields)) - used_up) | set(derived)


def test_what_is_given_has_a_place_in_an_order() -> None:
    places = {place.name for place in dataclasses.fields(Order)}

    assert {str(field.given).split(".")[0] for field in (*GIVEN, *GIVEN_CONTENT)} <= places


def test_the_tables_have_the_declared_columns_and_no_others(outbox: Outbox) -> None:
    assert columns_of(outbox, "emails") == {field.name: field.type for field in STATE}
    own = {"email_id": "uuid", "version": "smallint"}
    assert columns_of(outbox, "contents") == {field.name: field.type for field in CONTENT} | own


def columns_of(outbox: Outbox, table: str) -> dict[str, str]:
    """The columns of a table with their types, as PostgreSQL calls them."""
    with outbox.transaction() as connection:
        if outbox.database.dialect.name == "sqlite":
            known = connection.execute(f"SELECT name FROM pragma_table_info('postroom_{table}')").fetchall()
            types = {field.name: field.type for field in (*STATE, *CONTENT)} | {"email_id": "uuid"}
            return {name: types.get(name, "undeclared") for (name,) in known}
        return dict(
            connection.execute(
                "SELECT attname, replace(format_type(atttypid, NULL), 'timestamp with time zone', 'timestamptz') "
                "FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped",
                [f"postroom.{table}"],
            ).fetchall()
        )


UNUSUAL = {
    "priority": Priority.BULK,
    "max_attempts": 7,
    "policy": "quick",
    "on_doubt": OnDoubt.HOLD,
    "sensitive": True,
    "channel": "pigeon",
    "route": "backup",
    "kind": "receipt",
    "workspace": "hotel",
    "unsubscribable": True,
}
"""Of every given field something that no default is; `expires_at` depends on the clock, the rest is the letter's."""


def unusual(outbox: Outbox, clock: Clock, **more: Any) -> Order:
    email = Email(to="ada@example.org", subject="Unusual", text="plain", html="<p>rich</p>")
    plain = outbox.rules.order(Submission(email), now=clock.now)
    return dataclasses.replace(plain, **UNUSUAL, expires_at=clock.now + timedelta(days=3), **more)


@pytest.mark.parametrize("way", ["one", "under a key", "copied"])
def test_what_is_given_arrives_on_every_way_in_and_comes_out_with_a_claim_and_a_look(
    outbox: Outbox, clock: Clock, way: str
) -> None:
    order = unusual(outbox, clock, key="k" if way == "under a key" else None)
    plan: Any = enqueue_each([order], copies=True) if way == "copied" else enqueue([order])
    outbox.database.run(plan)
    stored = outbox.get(order.id)
    lease = timedelta(seconds=30)
    [claimed] = outbox.database.run(claims.claim(worker="w", lease=lease, urgent=0, normal=0, bulk=1, route="backup"))

    expected = {name: getattr(order, name) for name in (*UNUSUAL, "expires_at")}
    assert set(expected) == set(columns(GIVEN)), "a given field is not tried out here"
    assert {name: getattr(claimed, name) for name in expected} == expected
    assert {name: getattr(stored, name, expected[name]) for name in expected} == expected
    said = {name: getattr(order.letter, name) for name in columns(GIVEN_CONTENT) if name != "size"}
    assert {name: getattr(claimed, name) for name in said} == said
    assert stored.size == order.letter.size
    assert claimed.claim == Claim(order.id, 1)
    assert (claimed.created_at, claimed.claimed_at, claimed.due_at) == (clock.now, clock.now, clock.now)
    assert claimed.leased_until == clock.now + lease
    assert not claimed.dot_noted

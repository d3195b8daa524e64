"""Ten routes and a million emails that wait: whoever asks about one route, or about all, reads a few pages.

Nine routes hold the million, as when they are down; the tenth has its little, and must not pay for the others.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from postroom import Outbox
from postroom.store import acts, claims, dispatch, questions
from postroom.store.plan import Plan
from postroom.vocabulary import Priority
from tests.servers.postgres import PostgresServer
from tests.store.explaining import explain_on_postgres, explain_on_sqlite
from tests.store.full_house import analyse_postgres, analyse_sqlite
from tests.store.journey import LEASE, enqueue, enqueue_on

ROUTES = [f"route-{number}" for number in range(9)]

_POSTGRES = """
ALTER TABLE postroom.emails SET UNLOGGED;
INSERT INTO postroom.emails (
    id, status, priority, due_at, max_attempts, policy, on_doubt, sensitive, created_at, route
)
SELECT
    ('01890000000070008000' || lpad(to_hex(n), 12, '0'))::uuid, 'pending', n % 3, now() - n * interval '1 ms', 8,
    'patient', 'resend', false, now(), 'route-' || n % 9
FROM generate_series(1, 1000000) AS n;
-- Of some of them what they say: enough for nobody to read through it all.
INSERT INTO postroom.contents (email_id, subject, message_id, envelope, text, size, terms)
SELECT id, '', '', '{"date":0,"sender":["a@b.c"],"to":["a@b.c"]}', 'x', 1, '[]'
FROM postroom.emails
WHERE priority = 0 AND route IN ('route-0', 'route-3');
INSERT INTO postroom.terms (term, email_id)
SELECT 'route:' || route, id
FROM postroom.emails
WHERE priority = 0 AND route IN ('route-0', 'route-3');
"""

_SQLITE = """
WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1000000)
INSERT INTO postroom_emails (
    id, status, priority, due_at, max_attempts, policy, on_doubt, sensitive, created_at, route
)
SELECT printf('01890000-0000-7000-8000-%012x', n), 'pending', n % 3, 1700000000000000 - n * 1000, 8,
    'patient', 'resend', 0, 0, 'route-' || n % 9
FROM numbers;
"""

SEATS = {"urgent": 50, "normal": 30, "bulk": 20}

VERBS: dict[str, Callable[[], Plan[Any]]] = {
    "claim of the tenth route": lambda: claims.claim(worker="w", lease=LEASE, **SEATS),
    "claim of another": lambda: claims.claim(worker="w", lease=LEASE, **SEATS, route="route-5"),
    "claim of one that has nothing": lambda: claims.claim(worker="w", lease=LEASE, **SEATS, route="route-55"),
    "claim onto the tenth": lambda: claims.claim(worker="w", lease=LEASE, **SEATS, route="route-5", onto="default"),
    "next due of the tenth": lambda: questions.next_due(["default"]),
    "next due of all": lambda: questions.next_due(),
    "next due of all by name": lambda: questions.next_due([*ROUTES, "default"]),
    "oldest due of all": lambda: questions.oldest_due(),
    "something due on the tenth": lambda: questions.something_due(["default"]),
    "something due on one that has nothing": lambda: questions.something_due(["route-55"]),
    "something due beside what a fallback covers": lambda: questions.something_due(["route-55"], covered=ROUTES),
    "routes on which something waits": lambda: questions.waiting_routes(),
    "reserve of the tenth": lambda: dispatch.reserve(
        worker="s", lease=LEASE, seats=dict.fromkeys(Priority, 50), routes=["default"]
    ),
    "reserve of all": lambda: dispatch.reserve(worker="s", lease=LEASE, seats=dict.fromkeys(Priority, 50)),
    "awaiting dispatch of the tenth": lambda: dispatch.awaiting(["default"]),
    "awaiting dispatch of all": lambda: dispatch.awaiting(),
    "awaiting dispatch of one that has nothing": lambda: dispatch.awaiting(["route-55"]),
    "move": lambda: acts.move_route(from_route="route-5", to="default", actor="me", limit=100),
    "take over": lambda: claims.take_over(worker="w", lease=LEASE, limit=100),
}


@pytest.fixture(scope="module")
def crowded_postgres(postgres_server: PostgresServer, migrated_template: str) -> Iterator[Outbox]:
    with postgres_server.database(template=migrated_template) as url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(_POSTGRES)
        with Outbox(url) as outbox:
            move_in(outbox)
            analyse_postgres(url)
            yield outbox


@pytest.fixture(scope="module")
def crowded_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outbox]:
    path = tmp_path_factory.mktemp("crowded") / "outbox.db"
    with Outbox(f"sqlite:///{path}") as outbox:
        outbox.migrate()
        connection = sqlite3.connect(path, isolation_level=None)
        connection.executescript(f"PRAGMA synchronous = OFF; BEGIN; {_SQLITE} COMMIT;")
        connection.close()
        move_in(outbox)
        analyse_sqlite(path)
        yield outbox


def move_in(outbox: Outbox) -> None:
    enqueue(outbox, 20)
    enqueue_on(outbox, "route-5", 5, priority="urgent")


@pytest.mark.parametrize("generic", [False, True], ids=["planned for its values", "planned once for all values"])
@pytest.mark.parametrize("verb", VERBS)
def test_on_postgres_a_backlog_of_many_routes_is_not_read(crowded_postgres: Outbox, verb: str, generic: bool) -> None:
    with psycopg.connect(crowded_postgres.database_url, autocommit=True) as connection:
        connection.execute("VACUUM (INDEX_CLEANUP ON) postroom.emails, postroom.terms")  # what other tests rolled back

    steps = explain_on_postgres(crowded_postgres, VERBS[verb](), generic=generic)

    assert steps, "the verb asked nothing"
    for step in steps:
        assert step.problems == (), step.plan
        assert step.work < 4_000, f"{step.query} touched {step.work} pages:\n{step.plan}"


@pytest.mark.parametrize("analysed", [False, True], ids=["without statistics", "with statistics"])
@pytest.mark.parametrize("verb", VERBS)
def test_on_sqlite_a_backlog_of_many_routes_is_not_read(crowded_sqlite: Outbox, verb: str, analysed: bool) -> None:
    steps = explain_on_sqlite(crowded_sqlite, VERBS[verb](), analysed=analysed)

    assert steps, "the verb asked nothing"
    for step in steps:
        assert step.problems == (), step.plan
        assert step.work < 200, f"{step.query} took {step.work} thousand steps:\n{step.plan}"


def test_a_count_of_what_waits_would_be_noticed(crowded_postgres: Outbox, crowded_sqlite: Outbox) -> None:
    """What the limits above are worth: the one question that counts the backlog is far beyond them."""
    [postgres] = explain_on_postgres(crowded_postgres, questions.waiting_by_route(), generic=False)
    [sqlite] = explain_on_sqlite(crowded_sqlite, questions.waiting_by_route(), analysed=True)

    assert (postgres.work > 4_000, sqlite.work > 1_000) == (True, True)

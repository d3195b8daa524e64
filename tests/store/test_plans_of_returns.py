"""Two hundred thousand things that came back: whoever notes another, or looks at some, reads a few pages."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from postroom import Outbox
from postroom.store import returns as verbs
from postroom.store.plan import Plan, ask
from postroom.store.returns import Note
from postroom.vocabulary import EmailId, Return
from tests.servers.postgres import PostgresServer
from tests.store.explaining import explain_on_postgres, explain_on_sqlite

EMAIL = EmailId("01890000-0000-7000-8000-000000030d40")
FLOOD = "flood@example.org"
"""From whom half of it came; a quarter is about `EMAIL`, and `bakery` and some kinds have next to nothing of it."""
MIDDLE = "01890000-0000-7000-8000-000000010000"

_POSTGRES = f"""
INSERT INTO postroom.returns (id, source, source_id, received_at, what, address, email_id, unclear, workspace)
SELECT
    id, 'mail', n::text, now(),
    CASE WHEN n % 50000 = 49999 THEN 'complained' WHEN n % 50000 = 100 THEN 'unreadable' ELSE 'bounced' END,
    CASE WHEN n % 2 = 0 THEN 'flood@example.org' ELSE 'guest' || n || '@example.org' END,
    CASE WHEN n % 100 > 0 THEN CASE WHEN n % 4 = 1 THEN '{EMAIL}'::uuid ELSE id END END, n % 100 = 0,
    CASE WHEN n % 100 > 0 THEN CASE WHEN n % 20000 = 3 THEN 'bakery' ELSE 'hotel' END END
FROM generate_series(1, 200000) AS n
CROSS JOIN LATERAL (SELECT ('01890000000070008000' || lpad(to_hex(n), 12, '0'))::uuid AS id) AS named;
INSERT INTO postroom.return_messages (return_id, content, size) SELECT id, '', 0 FROM postroom.returns;
INSERT INTO postroom.fates (email_id, address, what, at, return_id)
SELECT id, 'ada@example.org', 'bounced', now(), id FROM postroom.returns;
ANALYZE postroom.returns, postroom.return_messages, postroom.fates;
"""

_SQLITE = f"""
WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 200000),
named AS (SELECT n, printf('01890000-0000-7000-8000-%012x', n) AS id FROM numbers)
INSERT INTO postroom_returns (id, source, source_id, received_at, what, address, email_id, unclear, workspace)
SELECT
    id, 'mail', n, 0,
    CASE WHEN n % 50000 = 49999 THEN 'complained' WHEN n % 50000 = 100 THEN 'unreadable' ELSE 'bounced' END,
    iif(n % 2 = 0, 'flood@example.org', 'guest' || n || '@example.org'),
    iif(n % 100 > 0, iif(n % 4 = 1, '{EMAIL}', id), NULL), n % 100 = 0,
    iif(n % 100 > 0, iif(n % 20000 = 3, 'bakery', 'hotel'), NULL)
FROM named;
INSERT INTO postroom_return_messages (return_id, content, size) SELECT id, x'', 0 FROM postroom_returns;
INSERT INTO postroom_fates (email_id, address, what, at, return_id)
SELECT id, 'ada@example.org', 'bounced', 0, id FROM postroom_returns;
ANALYZE;
"""


def _ask(name: str, **parameters: Any) -> Plan[Any]:
    return (yield ask(name, **parameters))


VERBS: dict[str, Callable[[], Plan[Any]]] = {
    "note what is known already": lambda: verbs.note_returns([Note(source="mail", source_id="7", what="bounced")]),
    "note what is new": lambda: verbs.note_returns([Note(source="mail", source_id="new", what=Return.REPLIED)]),
    "list": lambda: verbs.returns(limit=50),
    "list from the middle": lambda: verbs.returns(limit=50, before=MIDDLE),
    "list what is unclear": lambda: verbs.returns(limit=50, unclear=True),
    "list a rare kind": lambda: verbs.returns(limit=50, what="complained"),
    "list a kind that never came": lambda: verbs.returns(limit=50, what="never"),
    "list what is unclear of a kind": lambda: verbs.returns(limit=50, what="unreadable", unclear=True),
    "list what is unclear of a common kind": lambda: verbs.returns(limit=50, what="bounced", unclear=True),
    "list what is unclear of a rare kind": lambda: verbs.returns(limit=50, what="complained", unclear=True),
    "list one address": lambda: verbs.returns_at_address(FLOOD, limit=50, before=MIDDLE),
    "list a stranger": lambda: verbs.returns_at_address("nobody@example.org", limit=50),
    "list some workspaces": lambda: verbs.returns(limit=50, workspaces=("bakery", "hotel", "nowhere"), before=MIDDLE),
    "list a small workspace": lambda: verbs.returns(limit=50, workspaces=("bakery",)),
    "list a kind of some workspaces": lambda: verbs.returns(
        limit=50, what="complained", workspaces=("bakery", "hotel")
    ),
    "list what is unclear of some workspaces": lambda: verbs.returns(limit=50, unclear=True, workspaces=("hotel",)),
    "list one address in some workspaces": lambda: verbs.returns_at_address(
        FLOOD, limit=50, workspaces=("bakery", "hotel")
    ),
    "what came back about an email": lambda: verbs.returns_of_email(EMAIL, limit=50),
    "what came back about some emails": lambda: verbs.returns_of_emails([EMAIL, EmailId(MIDDLE)], limit=50),
    "the emails of a page": lambda: verbs.emails_returned([EMAIL, EmailId(MIDDLE)]),
    "read one": lambda: verbs.read_return(MIDDLE),
    "fates": lambda: verbs.fates_of([EMAIL, EmailId(MIDDLE)]),
    "sweep messages": lambda: _ask("sweep_return_messages", younger=MIDDLE, limit=20),
    "sweep returns": lambda: _ask("sweep_returns", younger=MIDDLE, limit=20),
    "forget": lambda: _ask("forget", ids=[EMAIL], events=True),
}


@pytest.fixture(scope="module")
def crowded_postgres(postgres_server: PostgresServer, migrated_template: str) -> Iterator[Outbox]:
    with postgres_server.database(template=migrated_template) as url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(_POSTGRES)
        with Outbox(url) as outbox:
            yield outbox


@pytest.fixture(scope="module")
def crowded_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outbox]:
    path: Path = tmp_path_factory.mktemp("returns") / "outbox.db"
    with Outbox(f"sqlite:///{path}") as outbox:
        outbox.migrate()
        with sqlite3.connect(path) as connection:
            connection.executescript(_SQLITE)
        connection.close()
        yield outbox


@pytest.mark.parametrize("generic", [False, True], ids=["planned for its values", "planned once for all values"])
@pytest.mark.parametrize("verb", VERBS)
def test_on_postgres_a_few_pages_are_read(crowded_postgres: Outbox, verb: str, generic: bool) -> None:
    for step in explain_on_postgres(crowded_postgres, VERBS[verb](), generic=generic):
        assert step.work < 500, f"{step.query} touched {step.work} pages:\n{step.plan}"


@pytest.mark.parametrize("analysed", [False, True], ids=["without statistics", "with statistics"])
@pytest.mark.parametrize("verb", VERBS)
def test_on_sqlite_a_few_steps_are_made(crowded_sqlite: Outbox, verb: str, analysed: bool) -> None:
    for step in explain_on_sqlite(crowded_sqlite, VERBS[verb](), analysed=analysed):
        assert step.work < 50, f"{step.query} took {step.work} thousand steps:\n{step.plan}"


def test_reading_all_of_it_would_be_noticed(crowded_postgres: Outbox, crowded_sqlite: Outbox) -> None:
    """What the limits above are worth."""
    plan = lambda: verbs.returns(limit=200_000)  # noqa: E731
    [postgres] = explain_on_postgres(crowded_postgres, plan(), generic=False)
    [sqlite] = explain_on_sqlite(crowded_sqlite, plan(), analysed=True)

    assert (postgres.work > 500, sqlite.work > 50) == (True, True)

"""What a feed asks at every look stays on its indexes, however much mail of campaigns waits or is over."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest

from postroom import Outbox
from postroom.campaigns.sending.acting import cancel_campaign
from postroom.campaigns.sending.carrying import carry_on_in
from postroom.campaigns.sending.launching import _begin
from postroom.store.ids import new_id
from postroom.store.plan import Plan, ask, ask_sql
from tests.servers.postgres import PostgresServer
from tests.store.explaining import explain_on_postgres, explain_on_sqlite
from tests.store.full_house import analyse_postgres, analyse_sqlite

PROSPECTS = 34_000
"""With three mails each: a hundred thousand."""
TABLES = ("campaign_mails", "enrolments", "prospects")

_FILLED = """
INSERT INTO {tables}senders (workspace, id, name, address, route, created_at)
VALUES ('w', 'grace', '', 'grace@example.org', 'default', {now});
INSERT INTO {tables}campaigns (workspace, id, name, sequence_id, status, created_at, launched_at)
SELECT 'w', 'c' || n, 'c', 's', CASE WHEN n = 3 THEN 'paused' ELSE 'running' END, {now}, {now}
FROM {few};
INSERT INTO {tables}prospects (workspace, id, address, normal_address, fields, created_at, updated_at)
SELECT 'w', 'p' || n, 'p' || n || '@example.org', 'p' || n || '@example.org', '{{}}', {now}, {now}
FROM {numbers};
INSERT INTO {tables}enrolments (workspace, campaign_id, prospect_id, number, status, updated_at)
SELECT 'w', 'c' || (n % 3 + 1), 'p' || n, n, CASE WHEN n % 3 = 0 THEN 'completed' ELSE 'active' END, {now}
FROM {numbers};
INSERT INTO {tables}campaign_mails (
    email_id, workspace, key, campaign_id, prospect_id, sequence_id, sequence_version, step, number, sender_id,
    follow_up, state, due_day, day, left_at, changed_at
)
SELECT
    {id}, 'w', 'p' || n || ':s:' || step, 'c' || (n % 3 + 1), 'p' || n, 's', 1, step, n, 'grace', step > 1,
    CASE WHEN n % 3 = 0 THEN 'sent' WHEN step = 1 THEN 'ready' ELSE 'waiting' END,
    CASE WHEN step = 1 THEN {first_day} END, CASE WHEN n % 3 = 0 THEN {today} END, {now}, {now}
FROM {numbers}, (SELECT 1 AS step UNION ALL SELECT 2 UNION ALL SELECT 3) AS steps;
INSERT INTO {tables}covered_prospects (workspace, prospect_id) SELECT 'w' || n % 10, 'p' || n FROM {numbers};
INSERT INTO {tables}covered_prospects (workspace, prospect_id) SELECT 'w', 'p' || n FROM {few};
INSERT INTO {tables}paces (workspace, next_at) SELECT 'w' || n, NULL FROM {numbers} WHERE n > 30000;
INSERT INTO {tables}paces (workspace, next_at) VALUES ('w', {now});
"""

ONE = "00000000-0000-0000-0001-000000000001"
DAY = "2026-03-09"
SOME = {"workspace": "w", "campaign": "c2", "after": 9_000, "upto": 9_006}
"""Two people of a campaign."""


def _entry(address: str) -> dict[str, Any]:
    """With its trigger: whom it covers is asked by the way."""
    return {
        "id": new_id(), "address": address, "scope": "all", "workspace": "", "kind": "", "reason": "manual",
        "evidence": "", "email_id": None, "actor": None, "expires_at": None,
    }  # fmt: skip


QUERIES: dict[str, dict[str, Any]] = {
    "campaigns_due": {},
    "due_pace": {"passed": []},
    "moved_pace": {"unread": []},
    "next_pace": {"passed": []},
    "moved_mails": {"workspace": "w", "limit": 100},
    "covered_prospects": {"workspace": "w3", "limit": 50},
    "forget_covered": {"ids": [1, 2, 3]},
    "forget_covered_of": {"workspace": "w3", "prospect": "p33"},
    "suppress": {"entries": [_entry("p77@example.org"), _entry("stranger@example.org")]},
    "next_mail": {"workspace": "w", "day": DAY, "senders": ["grace"]},
    "next_retry": {"workspace": "w", "routes": ["default"], "senders": ["grace"]},
    "next_turns": {"workspace": "w", "day": DAY},
    "last_mail_to": {"workspace": "w", "prospect": "p77", "beside": ONE},
    "mails_of_enrolment": {"workspace": "w", "campaign": "c2", "number": 1},
    "version_in_launch": {"workspace": "w", "campaign": "c2"},
    "last_planned": {"workspace": "w", "campaign": "c2"},
    "to_be_planned": {"workspace": "w", "campaign": "c2", "after": 5000, "follow_up": False, "limit": 50},
    "forget_planned": {"workspace": "w", "campaign": "c2", "after": 5000, "until": 5040},
    "standing_of_mail": {"id": ONE},
    "take_place": {"id": ONE},
    "leaves_now": {"id": ONE},
    "claim_mail": {"id": ONE, "worker": "worker", "lease": 30.0, "whole": 1000},
    "stop_mails_of_prospect": {"workspace": "w", "prospect": "p77", "campaign": None, "reason": "x"},
    "emails_of_prospect": {"workspace": "w", "prospect": "p77", "campaign": None},
    "campaign_to_carry": {"workspace": "w"},
    "end_of_batch": {"workspace": "w", "campaign": "c2", "after": 9_000, "limit": 10},
    "emails_of_campaign": SOME,
    "end_enrolments_of_campaign": {
        "workspace": "w",
        "campaign": "c2",
        "after": 9_000,
        "upto": 9_030,
        "status": "stopped",
        "reason": "x",
    },
    "stop_mails_of_campaign": SOME | {"reason": "x"},
    "complete_cancelled": SOME | {"reason": "x"},
    "revive_enrolments": SOME | {"reason": "x"},
    "revive_mails": SOME | {"reason": "x", "paused": "y"},
    "end_stranded": SOME | {"reason": "x"},
    "leave_stranded_mails": {
        "workspace": "w",
        "campaign": "c2",
        "after": 9_000,
        "upto": 9_030,
        "reason": "x",
        "previous": "y",
    },
    "end_enrolments_of_prospect": {
        "workspace": "w",
        "prospect": "p77",
        "campaign": None,
        "status": "replied",
        "reason": "x",
    },
    "set_enrolment": {
        "workspace": "w",
        "campaign": "c3",
        "prospect": "p77",
        "status": "active",
        "was": ["active"],
    },
    "note_sent_step": {"workspace": "w", "campaign": "c3", "prospect": "p77", "step": 1, "day": DAY},
    "end_enrolment_at_step": {"workspace": "w", "campaign": "c3", "prospect": "p77", "step": 1, "reason": "x"},
    "revive_enrolment": {"workspace": "w", "campaign": "c3", "prospect": "p77", "step": 1, "reason": "x"},
    "waiting_mails": {"workspace": "w", "campaign": "c2", "number": 5000, "step": 1, "limit": 100},
    "enrolments_found": {
        "workspace": "w",
        "campaign": "c2",
        "part": None,
        "status": None,
        "mail": "in_doubt",
        "after": 5000,
        "looked": 40,
        "limit": 26,
    },
    "complete_campaign": {"workspace": "w", "campaign": "c2"},
    "revive_mails_of_enrolment": {"workspace": "w", "campaign": "c2", "number": 1, "reason": "x", "paused": "y"},
    "hold_mails": {"workspace": "w", "campaign": "c3", "prospect": "p77", "reason": "x"},
    "unhold_mails": {"workspace": "w", "campaign": "c3", "prospect": "p77"},
    "stop_following": {"workspace": "w", "campaign": "c2", "number": 1, "step": 1, "reason": "x"},
    "find_enrolment": {"workspace": "w", "campaign": "c2", "prospect": "p1"},
    "hold_paces": {"workspaces": ["w"], "emails": [ONE]},
    "mails_that_are": {"ids": [ONE]},
    "prospects_at": {
        "wanted": [
            {"address": "p77@example.org", "workspace": None},
            {"address": "p78@example.org", "workspace": "w"},
        ]
    },
    "campaigns_of": {"address": "p77@example.org"},
    "last_failure": {"id": ONE, "since": datetime(2026, 3, 9, tzinfo=UTC)},
    "pace_due": {"workspace": "w"},
    "unserved_paces": {"before": datetime(2026, 3, 9, tzinfo=UTC)},
    "set_aside_until": {
        "workspace": "w",
        "prospect": "p77",
        "until": datetime(2026, 3, 20, tzinfo=UTC),
        "reason": "x",
        "paused": "y",
    },
    "note_returned": {"id": ONE, "bounced": True, "complained": False, "refused": True},
    "refusal": {"id": ONE},
    "count_campaign": {
        "workspace": "w",
        "campaign": "c2",
        "left_at": datetime(2026, 3, 9, tzinfo=UTC),
        "sent": 1,
        "bounced": 0,
        "complained": 0,
    },
    "scheduled_already": {"workspace": "w", "sequence": "s", "prospects": ["p1", "p2"]},
}


POSTGRES = {
    "tables": "postroom.", "now": "now()", "few": "generate_series(1, 3) AS n",
    "first_day": "date '0001-01-01'", "today": f"date '{DAY}'",
    "id": "('00000000-0000-0000-' || lpad(step::text, 4, '0') || '-' || lpad(n::text, 12, '0'))::uuid",
}  # fmt: skip


def asked(name: str) -> Plan[Any]:
    return (yield ask(name, **QUERIES[name]))


@pytest.fixture(scope="module")
def filled_postgres(postgres_server: PostgresServer, migrated_template: str) -> Iterator[Outbox]:
    numbers = f"generate_series(1, {PROSPECTS}) AS n"
    with postgres_server.database(template=migrated_template) as url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(_FILLED.format(**POSTGRES, numbers=numbers).encode())
        with Outbox(url) as outbox:
            analyse_postgres(url)
            yield outbox


@pytest.fixture(scope="module")
def filled_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outbox]:
    path: Path = tmp_path_factory.mktemp("mails") / "outbox.db"
    counted = "(WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {most}) SELECT n FROM n)"
    names = {
        "tables": "postroom_", "now": "0", "numbers": counted.format(most=PROSPECTS), "few": counted.format(most=3),
        "first_day": "'0001-01-01'", "today": f"'{DAY}'",
        "id": "printf('00000000-0000-0000-%04d-%012d', step, n)",
    }  # fmt: skip
    with Outbox(f"sqlite:///{path}") as outbox:
        outbox.migrate()
        connection = sqlite3.connect(path, isolation_level=None)
        connection.executescript(f"PRAGMA synchronous = OFF; BEGIN; {_FILLED.format(**names)} COMMIT;")
        connection.close()
        analyse_sqlite(path)
        yield outbox


@pytest.mark.parametrize("generic", [False, True], ids=["planned for its values", "planned once for all values"])
@pytest.mark.parametrize("query", QUERIES)
def test_on_postgres_it_reads_a_few_pages(filled_postgres: Outbox, query: str, generic: bool) -> None:
    [step] = explain_on_postgres(filled_postgres, asked(query), generic=generic)

    assert not [node for node in _nodes(json.loads(step.plan)) if _reads_everything(node)], step.plan
    assert step.work < 200, f"{step.query} touched {step.work} pages:\n{step.plan}"


def test_a_relaunch_takes_its_time_once_for_each_row_also_before_anybody_has_counted_them(
    postgres_server: PostgresServer, migrated_template: str
) -> None:
    """Its rows are of its own transaction, so there are no statistics of them. A third of its people are paused."""
    with postgres_server.database(template=migrated_template) as url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(_FILLED.format(**POSTGRES, numbers="generate_series(1, 3000) AS n").encode())
        with Outbox(url) as outbox:
            relaunched = _cancelled_and_launched_again("c2")
            steps = explain_on_postgres(outbox, relaunched, generic=False)

    work = {step.query: step.work for step in steps}
    assert len(steps) < 60, "it asks of all at once, and not of each person"
    assert max(work.values()) < 150_000, work  # of three thousand mails, in eight indexes


@pytest.mark.parametrize("status", ["paused", "cancelled"])
def test_what_would_go_on_is_counted_once_for_each_row_also_before_anybody_has_counted_them(
    postgres_server: PostgresServer, migrated_template: str, status: str
) -> None:
    with postgres_server.database(template=migrated_template) as url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(_FILLED.format(**POSTGRES, numbers="generate_series(1, 3000) AS n").encode())
            connection.execute("UPDATE postroom.campaign_mails SET state = 'stopped', reason = 'x'")
            connection.execute("UPDATE postroom.campaigns SET status = %s WHERE id = 'c2'", [status])
            connection.execute(
                "UPDATE postroom.enrolments SET sequence_version = 1, reason = 'x', status = %s",
                ["active" if status == "paused" else "stopped"],
            )
        with Outbox(url) as outbox:
            [step] = explain_on_postgres(outbox, _of_a_campaign("progress_if_it_went_on"), generic=False)

    assert step.work < 20_000, f"{step.query} touched {step.work} pages:\n{step.plan}"


BOOKS = ("headcount", "count_left_over", "count_open_after_end", "count_stranded")
"""What is asked of all people, or all mails, of one campaign, to see whether its books add up."""


@pytest.mark.parametrize("generic", [False, True], ids=["planned for its values", "planned once for all values"])
@pytest.mark.parametrize("status", ["running", "completed"])
@pytest.mark.parametrize("query", BOOKS)
def test_books_are_counted_once_for_each_row_also_before_anybody_has_counted_them(
    postgres_server: PostgresServer, migrated_template: str, query: str, status: str, generic: bool
) -> None:
    """A thousand people with three mails each, among as many again of two other campaigns."""
    with postgres_server.database(template=migrated_template) as url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(_FILLED.format(**POSTGRES, numbers="generate_series(1, 3000) AS n").encode())
            connection.execute("UPDATE postroom.enrolments SET sequence_version = 1")
            connection.execute("UPDATE postroom.campaigns SET status = %s WHERE id = 'c2'", [status])
        with Outbox(url) as outbox:
            [step] = explain_on_postgres(outbox, _of_a_campaign(query), generic=generic)

    assert step.work < 20_000, f"{step.query} touched {step.work} pages:\n{step.plan}"


def _of_a_campaign(query: str) -> Plan[Any]:
    return (yield ask(query, workspace="w", campaign="c2", reason="x"))


def _cancelled_and_launched_again(campaign: str) -> Plan[None]:
    paused = "UPDATE postroom.enrolments SET status = 'paused' WHERE status = 'active' AND number % 9 = 1"
    yield ask_sql("UPDATE postroom.enrolments SET sequence_version = 1")
    yield ask_sql(paused)
    yield from cancel_campaign("w", campaign)
    while (yield from carry_on_in("w")):
        pass
    yield from _begin("w", campaign, again=True)
    while (yield from carry_on_in("w")):
        pass


@pytest.mark.parametrize("analysed", [False, True], ids=["without statistics", "with statistics"])
@pytest.mark.parametrize("query", QUERIES)
def test_on_sqlite_it_takes_a_few_steps(filled_sqlite: Outbox, query: str, analysed: bool) -> None:
    steps = explain_on_sqlite(filled_sqlite, asked(query), analysed=analysed)

    for step in steps:
        assert step.work < 20, f"{step.query} took {step.work} thousand steps:\n{step.plan}"


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from _nodes(child)


def _reads_everything(node: dict[str, Any]) -> bool:
    return node.get("Relation Name") in TABLES and node["Node Type"] == "Seq Scan"

"""The hot questions about campaigns stay on their indexes, however many prospects other workspaces have."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from postroom import Outbox
from postroom.accounts.audit import acts_on_prospect
from postroom.campaigns.drafts.campaigns import enrol, enrolments_after
from postroom.campaigns.drafts.passing import passed_over
from postroom.campaigns.drafts.prospects import Arrival, find_prospect, get_prospect, take_in
from postroom.campaigns.looking.one_prospect import mails_of_prospect, mails_returned, standings_of
from postroom.campaigns.looking.totals import headcount
from postroom.campaigns.sending.launching import gone_through
from postroom.campaigns.values import Campaign, Prospect
from postroom.store.dialect import postgres_dialect
from postroom.store.plan import Plan, Statement, ask
from postroom.store.queries import ParameterStyle
from postroom.vocabulary import EmailId
from tests.servers.postgres import PostgresServer
from tests.store.explaining import Explained, explain_on_postgres, explain_on_sqlite
from tests.store.full_house import analyse_postgres, analyse_sqlite

PROSPECTS = 40_000
TABLES = ("prospects", "enrolments", "campaign_mails", "audit")
MAIL = EmailId("01890000-0000-7000-8000-000000020001")

_FILLED = """
INSERT INTO {tables}prospects (
    workspace, id, address, normal_address, fields, created_at, updated_at
)
SELECT
    'w' || (n % 2), 'p' || n, 'p' || n || '@example.org', 'p' || n || '@example.org', '{{}}', {now}, {now}
FROM {numbers};
INSERT INTO {tables}enrolments (workspace, campaign_id, prospect_id, number, status, updated_at)
SELECT workspace, 'c', id, CAST(substr(id, 2) AS {integer}), 'enrolled', {now} FROM {tables}prospects;
INSERT INTO {tables}campaigns (workspace, id, name, sequence_id, status, created_at)
VALUES ('w0', 'c', 'c', 's', 'running', {now}), ('w1', 'c', 'c', 's', 'running', {now});
INSERT INTO {tables}campaign_mails (
    email_id, workspace, key, campaign_id, prospect_id, sequence_id, sequence_version, step, number, sender_id,
    follow_up, state, changed_at
)
SELECT {id}, workspace, id || ':s:1', 'c', id, 's', 1, 1, CAST(substr(id, 2) AS {integer}), 'g', {no}, 'sent', {now}
FROM {tables}prospects;
INSERT INTO {tables}audit (at, actor, what, detail)
SELECT
    {now}, 'grace', CASE WHEN number % 2 = 1 THEN 'campaign_pause_prospect' ELSE 'enqueue' END,
    '{{"workspace": "' || workspace || '", "campaign": "c", "prospect": "' || prospect_id || '"}}'
FROM {tables}enrolments;
INSERT INTO {tables}enrolments (workspace, campaign_id, prospect_id, number, status, updated_at)
SELECT workspace, 'few', id, CAST(substr(id, 2) AS {integer}), 'enrolled', {now} FROM {tables}prospects
WHERE id IN ('p77', 'p20001');
"""

LAUNCHED = Campaign(id="few", name="Few", sequence_id="s", launched_to=50_000)

VERBS: dict[str, Callable[[], Plan[Any]]] = {
    "prospect by address": lambda: find_prospect("w1", "P20001@example.org"),
    "prospect by id": lambda: get_prospect("w1", "p20001"),
    "enrolments behind a number": lambda: enrolments_after("w1", "c", 20_000, limit=50),
    "whom a launch passes over": lambda: passed_over("w1", Campaign(id="few", name="Few", sequence_id="s")),
    "what became of those launched": lambda: gone_through("w1", LAUNCHED),
    "mails of a prospect": lambda: mails_of_prospect("w1", "p20001", limit=200),
    "standings of a prospect": lambda: standings_of("w1", "p20001", limit=200),
    "acts on a prospect": lambda: acts_on_prospect("w1", "p20001", limit=200),
    "the mails that came back": lambda: mails_returned([MAIL]),
    "enrol": lambda: _enrolled([f"p{number}" for number in range(1, 41, 2)]),
    "import": lambda: take_in("w1", [_arrival(number) for number in range(39_990, 40_010)], update=True),
}

BOOKS: dict[str, Callable[[], Plan[Any]]] = {
    "what the launch has come to for its people": lambda: headcount("w1", "few"),
    "mails that wait for nobody": lambda: _of_few("count_left_over"),
    "people of a campaign that is over": lambda: _of_few("count_open_after_end"),
}
"""Asked of all that is in one campaign, and so read from end to end where a campaign is expected to be half of all."""


def _of_few(query: str) -> Plan[Any]:
    return (yield ask(query, workspace="w1", campaign="few"))


def _enrolled(ids: list[str]) -> Plan[Any]:
    yield ask("plan_afresh")
    return (yield from enrol("w1", "another", ids))


def _arrival(number: int) -> Arrival:
    return Arrival(Prospect(id=f"p{number}", address=f"p{number}@example.org", name="New"), True)


def fill_postgres(url: str) -> None:
    numbers = f"generate_series(1, {PROSPECTS}) AS n"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            _FILLED.format(
                tables="postroom.",
                now="now()",
                numbers=numbers,
                integer="bigint",
                no="false",
                id="('01890000-0000-7000-8000-' || lpad(substr(id, 2), 12, '0'))::uuid",
            )
        )


@pytest.fixture(scope="module", params=[False, True], ids=["without statistics", "with statistics"])
def filled_postgres(
    request: pytest.FixtureRequest, postgres_server: PostgresServer, migrated_template: str
) -> Iterator[Outbox]:
    with postgres_server.database(template=migrated_template) as url:
        fill_postgres(url)
        if request.param:
            analyse_postgres(url)
        with Outbox(url) as outbox:
            yield outbox


@pytest.fixture(scope="module")
def filled_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outbox]:
    path: Path = tmp_path_factory.mktemp("prospects") / "outbox.db"
    numbers = (
        f"(WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {PROSPECTS}) SELECT n FROM n)"
    )
    with Outbox(f"sqlite:///{path}") as outbox:
        outbox.migrate()
        connection = sqlite3.connect(path, isolation_level=None)
        filled = _FILLED.format(
            tables="postroom_",
            now="0",
            numbers=numbers,
            integer="INTEGER",
            no="0",
            id="'01890000-0000-7000-8000-' || substr('000000000000' || substr(id, 2), -12)",
        )
        connection.executescript(f"PRAGMA synchronous = OFF; BEGIN; {filled} COMMIT;")
        connection.close()
        analyse_sqlite(path)
        yield outbox


@pytest.mark.parametrize("generic", [False, True], ids=["planned for its values", "planned once for all values"])
@pytest.mark.parametrize("verb", VERBS)
def test_on_postgres_it_reads_a_few_pages(filled_postgres: Outbox, verb: str, generic: bool) -> None:
    _check_pages(explain_on_postgres(filled_postgres, VERBS[verb](), generic=generic))


@pytest.mark.parametrize("verb", BOOKS)
def test_on_postgres_the_books_of_a_small_campaign_are_a_few_pages_beside_large_ones(
    filled_postgres: Outbox, verb: str
) -> None:
    _check_pages(explain_on_postgres(filled_postgres, BOOKS[verb](), generic=False))


def _check_pages(steps: list[Explained]) -> None:
    assert steps, "the verb asked nothing"
    for step in steps:
        assert not [node for node in _nodes(json.loads(step.plan)) if _reads_everything(node)], step.plan
        assert step.work < 1_000, f"{step.query} touched {step.work} pages:\n{step.plan}"


@pytest.mark.parametrize("analysed", [False, True], ids=["without statistics", "with statistics"])
@pytest.mark.parametrize("verb", [*VERBS, *BOOKS])
def test_on_sqlite_it_takes_a_few_steps(filled_sqlite: Outbox, verb: str, analysed: bool) -> None:
    steps = explain_on_sqlite(filled_sqlite, {**VERBS, **BOOKS}[verb](), analysed=analysed)

    assert steps, "the verb asked nothing"
    for step in steps:
        assert not {"SCAN p", "SCAN e", "SCAN m"} & {*step.plan.splitlines()}, step.plan
        assert "SCAN postroom_" not in step.plan, step.plan
        assert step.work < 20, f"{step.query} took {step.work} thousand steps:\n{step.plan}"


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from _nodes(child)


def _reads_everything(node: dict[str, Any]) -> bool:
    if node.get("Relation Name") not in TABLES:
        return False
    whole_index = node["Node Type"] in ("Index Scan", "Index Only Scan") and "Index Cond" not in node
    return node["Node Type"] == "Seq Scan" or whole_index


def test_what_was_planned_while_the_tables_were_empty_is_planned_anew_when_they_are_full(
    postgres_server: PostgresServer, migrated_template: str
) -> None:
    """An import prepares its statements on its first rows, and PostgreSQL keeps their plans until it looks anew.

    Such a plan may be bad: on an empty table any index will do. Neither an import nor a page of enrolments goes by it.
    """
    afresh = next(take_in("w1", [], update=False))
    with (
        postgres_server.database(template=migrated_template) as url,
        psycopg.connect(url, autocommit=True, cursor_factory=psycopg.ClientCursor) as connection,
    ):
        connection.execute("SET plan_cache_mode = force_generic_plan")
        asked = _prepared(connection, ask("prospects_by_id", workspace="w1", ids=["p20001"] * 200))
        _pages(connection, asked)
        fill_postgres(url)
        with connection.transaction():
            connection.execute(_spoken(afresh)[0].encode())
            by_a_new_plan = _pages(connection, asked)

    assert by_a_new_plan < 1_000
    assert next(enrolments_after("w1", "c")) == afresh


def _spoken(statement: Any) -> tuple[str, Any]:
    [spoken] = postgres_dialect(schema="postroom").speak(statement, ParameterStyle.DOLLAR)
    return spoken


def _prepared(connection: psycopg.Connection[Any], statement: Statement) -> tuple[str, Any]:
    sql, values = _spoken(statement)
    connection.execute(f"PREPARE asked AS {sql}".encode())
    return f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE asked ({', '.join(['%s'] * len(values))})", values


def _pages(connection: psycopg.Connection[Any], asked: tuple[str, Any]) -> int:
    [[[explained]]] = connection.execute(*asked)  # type: ignore[arg-type]
    return int(explained["Plan"]["Shared Hit Blocks"]) + int(explained["Plan"]["Shared Read Blocks"])

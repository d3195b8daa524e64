"""The hot queries stay on their indexes: a million finished emails are neither read, counted nor sorted.

Every verb is carried out on a full outbox, step by step. Each statement is asked for its plan, and its work is
measured in what does not depend on the machine: pages on PostgreSQL, steps of the virtual machine on SQLite.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from postroom import Filter, Outbox, Status
from postroom.compose import DEFAULT_LIMITS
from postroom.outbox.submission import Submission
from postroom.store import acts, claims, dispatch, housekeeping, overview, questions
from postroom.store.contents import read_content, read_letter
from postroom.store.contract import Claim, Settlement
from postroom.store.dialect import Dialect
from postroom.store.enqueue import enqueue
from postroom.store.plan import Plan, Rows, Statement, Step, drive
from postroom.store.queries import ParameterStyle
from postroom.store.recall import Accepted, recall
from postroom.vocabulary import LeaseToken, Priority
from tests.servers.postgres import PostgresServer
from tests.store.full_house import House, analyse_postgres, analyse_sqlite, fill_postgres, fill_sqlite, move_in
from tests.store.journey import LEASE, email, named

UNFINISHED = [status for status in Status if status not in (Status.SENT, Status.CANCELLED)]
LONG_AGO = datetime.now(UTC) - timedelta(days=30)


def _orders(house: House) -> list[Any]:
    rules = house.outbox.rules
    return [
        rules.order(Submission(email(), "past-100000")),
        rules.order(Submission(email(), "new")),
        rules.order(Submission.of(email(tags=["a"]), kind="k", workspace="w")),
    ]


def _settlements(house: House, status: Status) -> list[Settlement]:
    return [Settlement(claim=claim, status=status, attempts=1, event="tried") for claim in house.claims]


def _accepted(house: House) -> list[Accepted]:
    """Some that are known, and many that are not: nearly everything a journal says is old news."""
    waiting = [Claim(id, LeaseToken(9)) for id in (*house.ids[Status.PENDING], *house.ids[Status.DEAD])][:250]
    return [
        Accepted(
            settlement=Settlement(claim=claim, status=Status.SENT, attempts=1, event="sent"), version=1, worker="w"
        )
        for claim in (*waiting, *house.claims)
    ]


def _list(wanted: Filter) -> Callable[[House], Plan[Any]]:
    return lambda house: questions.list_emails(wanted, limit=50)


VERBS: dict[str, Callable[[House], Plan[Any]]] = {
    "enqueue": lambda house: enqueue(_orders(house)),
    "enqueue one": lambda house: enqueue(_orders(house)[2:]),
    "claim": lambda house: claims.claim(worker="w", lease=LEASE, urgent=50, normal=30, bulk=20),
    "take_over": lambda house: claims.take_over(worker="w", lease=LEASE, limit=100),
    "renew": lambda house: claims.renew(house.claims, lease=LEASE),
    "note_dots": lambda house: claims.note_dots(house.claims),
    "release": lambda house: claims.release(house.claims),
    "reserve": lambda house: dispatch.reserve(worker="s", lease=LEASE, seats=dict.fromkeys(Priority, 200)),
    "confirm_queued": lambda house: dispatch.confirm_queued([each.claim for each in house.reserved]),
    "claim_queued": lambda house: dispatch.claim_queued(
        [named(each) for each in house.reserved], worker="w", lease=LEASE
    ),
    "own_queued": lambda house: dispatch.own_queued(named(house.reserved[0]), worker="w", lease=LEASE),
    "read_owned": lambda house: dispatch.read_owned(house.claims[0]),
    "unqueue": lambda house: dispatch.unqueue([named(each) for each in house.reserved]),
    "requeue": lambda house: dispatch.requeue(limit=200),
    "give_up": lambda house: dispatch.give_up([each.claim for each in house.reserved]),
    "unannounced": lambda house: dispatch.unannounced(limit=100),
    "announced": lambda house: dispatch.announced([Claim(id, LeaseToken(1)) for id in house.ids[Status.DEAD]]),
    "awaiting dispatch": lambda house: dispatch.awaiting(),
    "settle": lambda house: claims.settle(_settlements(house, Status.SENT)),
    "settle and forget": lambda house: claims.settle(_settlements(house, Status.SENT), keep_sent=False),
    "recall": lambda house: recall(_accepted(house)),
    "recall and forget": lambda house: recall(_accepted(house), keep_sent=False),
    "retry": lambda house: acts.retry(house.ids[Status.DEAD], actor="me"),
    "dismiss": lambda house: acts.dismiss(house.ids[Status.DEAD], actor="me"),
    "cancel": lambda house: acts.cancel(house.ids[Status.PENDING], actor="me"),
    "replay": lambda house: acts.replay(
        house.ids[Status.DEAD][0], {"to": "right@example.org"}, actor="me", limits=DEFAULT_LIMITS
    ),
    "get": lambda house: questions.get(house.ids[Status.DEAD][0]),
    "content": lambda house: read_content(house.ids[Status.DEAD][0], 1, "{}"),
    "letter": lambda house: read_letter(house.ids[Status.DEAD][0], 1),
    "counts": lambda house: questions.counts(),
    "due": lambda house: questions.due(),
    "oldest due": lambda house: questions.oldest_due(),
    "next due": lambda house: questions.next_due(),
    "prune": lambda house: housekeeping.prune_batch(before=LONG_AGO, statuses=[Status.SENT], limit=100),
    "prune with nothing to prune": lambda house: housekeeping.prune_batch(
        before=LONG_AGO - timedelta(days=30), statuses=[Status.SENT, Status.CANCELLED], limit=100
    ),
    "archive": lambda house: housekeeping.read_archive(house.ids[Status.DEAD]),
    **{f"list {status}": _list(Filter(status=status)) for status in Status},
    "list everything": _list(Filter()),
    "list the versions": lambda house: overview.versions(house.ids[Status.DEAD][0]),
    "list the failures": lambda house: overview.failures(at_most=100),
    "list the failures of a workspace": lambda house: overview.failures(at_most=100, workspaces=["acme"]),
    "counts within workspaces": lambda house: overview.counts_within(["", "acme"], at_most=100),
    "oldest due within workspaces": lambda house: overview.oldest_due_within([""]),
    "place": lambda house: overview.placed(house.ids[Status.DEAD]),
    "edge of everything": lambda house: overview.edge(Filter(), before=None, window=500),
    "edge of a status": lambda house: overview.edge(Filter(status=Status.DEAD), before=None, window=100),
    "edge of the cancelled": lambda house: overview.edge(Filter(status=Status.CANCELLED), before=None, window=100),
    "edge of the sent": lambda house: overview.edge(Filter(status=Status.SENT), before=None, window=500),
    "edge of a tag": lambda house: overview.edge(Filter(tag="live-7"), before=None, window=100),
    "list a recipient": _list(Filter(recipient="past8@example.org")),
    "list a tag": _list(Filter(tag="live-7")),
    "list a tag and a status": _list(Filter(tag="live-7", status=Status.DEAD)),
    "list a key": _list(Filter(key="past-100000")),
    "list a time": _list(Filter(since=datetime.now(UTC) - timedelta(minutes=5))),
    "list a time long ago": _list(Filter(until=LONG_AGO)),
}

ELSEWHERE = {
    "count_all": "counts row by row on purpose: for the check of the sum",
    "under_key_anywhere": "hops from workspace to workspace along the index of keys, one probe for each",
    "unused_attachments": "housekeeping, seldom",
    "sweep_attachments": "housekeeping, seldom",
    "sweep_keys": "housekeeping, seldom",
    "sweep_events": "housekeeping, seldom",
}
"""Queries about big tables that no verb above asks, and why they need no index."""

BOUNDED = {"count_sent_without_workspace"}
"""Queries that look at the newest so many emails and stop: only their work is measured."""

BIG = {"emails", "contents", "terms", "keys", "events", "attachment_uses"}
"""Tables that grow with finished emails."""

PARTIAL = {"emails_due", "emails_unfinished", "emails_cancelled", "emails_unannounced"}
"""Indexes that leave sent emails out: these may be read from one end to the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """One statement's plan, and the work it took."""

    query: str
    problems: tuple[str, ...]
    """What the plan does that does not belong into a hot query."""
    work: int
    plan: str


@pytest.fixture(scope="module")
def full_postgres(postgres_server: PostgresServer, migrated_template: str) -> Iterator[House]:
    with postgres_server.database(template=migrated_template) as url:
        fill_postgres(url)
        with Outbox(url) as outbox:
            house = move_in(outbox)
            analyse_postgres(url)
            yield house


@pytest.fixture(scope="module")
def full_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    path = tmp_path_factory.mktemp("full") / "outbox.db"
    with Outbox(f"sqlite:///{path}") as outbox:
        outbox.migrate()
        fill_sqlite(path)
        house = move_in(outbox)
        analyse_sqlite(path)
        yield house


@pytest.mark.parametrize("generic", [False, True], ids=["planned for its values", "planned once for all values"])
@pytest.mark.parametrize("verb", VERBS)
def test_on_postgres_a_verb_reads_no_finished_emails_it_does_not_need(
    full_postgres: House, verb: str, generic: bool
) -> None:
    """Drivers prepare statements, and a prepared statement may be planned once, without knowing its values."""
    _clear_away_what_other_tests_rolled_back(full_postgres)

    steps = _explain_on_postgres(full_postgres, VERBS[verb](full_postgres), generic=generic)

    assert steps, "the verb asked nothing"
    for step in steps:
        assert step.problems == (), step.plan
        assert step.work < 4_000, f"{step.query} touched {step.work} pages:\n{step.plan}"


@pytest.mark.parametrize("analysed", [False, True], ids=["without statistics", "with statistics"])
@pytest.mark.parametrize("verb", VERBS)
def test_on_sqlite_a_verb_reads_no_finished_emails_it_does_not_need(
    full_sqlite: House, verb: str, analysed: bool
) -> None:
    """Few people ever run ANALYZE, and some do."""
    steps = _explain_on_sqlite(full_sqlite, VERBS[verb](full_sqlite), analysed=analysed)

    assert steps, "the verb asked nothing"
    for step in steps:
        assert step.problems == (), step.plan
        assert step.work < 1_000, f"{step.query} took {step.work} thousand steps:\n{step.plan}"


def test_a_count_of_every_row_would_be_noticed(full_postgres: House, full_sqlite: House) -> None:
    """What the limits above are worth: the one query that counts everything is far beyond them."""
    [postgres] = _explain_on_postgres(full_postgres, questions.conservation(), generic=False)
    [sqlite] = _explain_on_sqlite(full_sqlite, questions.conservation(), analysed=True)

    assert (bool(postgres.problems), postgres.work > 4_000) == (True, True)
    assert (bool(sqlite.problems), sqlite.work > 1_000) == (True, True)


def test_counts_are_right_although_nobody_counts(full_postgres: House, full_sqlite: House) -> None:
    for house in (full_postgres, full_sqlite):
        counts = house.outbox.counts()
        assert (counts["sent"], counts["cancelled"], counts["dead"]) == (1_000_000, 500, 300)


def test_every_query_about_a_big_table_is_explained_or_has_a_reason_not_to_be(full_sqlite: House) -> None:
    asked: set[str] = set()
    for plan in VERBS.values():
        asked |= {step.query for step in _explain_on_sqlite(full_sqlite, plan(full_sqlite), analysed=True)}

    queries = full_sqlite.outbox.database.dialect.queries
    about_big_tables = {
        name for name in queries.names() if _BIG_TABLE.search(str(queries.spell(name, ParameterStyle.NAMED)))
    }
    assert about_big_tables <= asked | ELSEWHERE.keys()


def _clear_away_what_other_tests_rolled_back(house: House) -> None:
    """Explaining a write leaves dead rows, and reading past them is no fault of the next verb."""
    with psycopg.connect(house.outbox.database_url, autocommit=True) as connection:
        connection.execute("VACUUM postroom.emails, postroom.contents, postroom.terms")


_BIG_TABLE = re.compile(rf"\bpostroom_({'|'.join(sorted(BIG))})\b")


def _explain_on_postgres(house: House, plan: Plan[Any], *, generic: bool) -> list[Explained]:
    found: list[Explained] = []
    dialect = house.outbox.database.dialect
    with psycopg.connect(house.outbox.database_url, cursor_factory=psycopg.ClientCursor) as connection:
        connection.execute("SET plan_cache_mode = force_generic_plan" if generic else "SET plan_cache_mode = auto")

        def execute(step: Step) -> Rows:
            assert isinstance(step, Statement)
            [(sql, values)] = dialect.speak(step, ParameterStyle.DOLLAR)
            connection.execute(f"PREPARE asked AS {sql}".encode())
            call = f"EXECUTE asked ({', '.join(['%s'] * len(values))})" if values else "EXECUTE asked"
            connection.execute("SAVEPOINT explain")
            [[[explained]]] = connection.execute(f"EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) {call}", values)
            connection.execute("ROLLBACK TO explain")
            found.append(_read_postgres(step.name, explained["Plan"]))
            cursor = connection.execute(call, values)
            rows = cursor.fetchall() if cursor.description else []
            connection.execute("DEALLOCATE asked")
            return rows

        drive(plan, execute)
        connection.rollback()
    return found


def _read_postgres(query: str, plan: dict[str, Any]) -> Explained:
    problems = [problem for node in _nodes(plan) if query not in BOUNDED and (problem := _postgres_problem(node))]
    work = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
    return Explained(query=query, problems=tuple(problems), work=work, plan=json.dumps(plan, indent=1))


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from _nodes(child)


def _postgres_problem(node: dict[str, Any]) -> str | None:
    """A sequential scan of a big table, or a walk through the whole of one of its indexes."""
    table = node.get("Relation Name")
    if table not in BIG:
        return None
    if node["Node Type"] == "Seq Scan":
        return f"sequential scan of {table}"
    partial = node.get("Index Name") in PARTIAL
    if node["Node Type"] in ("Index Scan", "Index Only Scan") and not partial and "Index Cond" not in node:
        return f"the whole of {node['Index Name']}"
    return None


def _explain_on_sqlite(house: House, plan: Plan[Any], *, analysed: bool) -> list[Explained]:
    found: list[Explained] = []
    dialect = house.outbox.database.dialect
    with _sqlite_connection(house, analysed=analysed) as connection:

        def execute(step: Step) -> Rows:
            assert isinstance(step, Statement)
            rows: Rows = []
            for sql, values in dialect.speak(step, ParameterStyle.NAMED):
                lines = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", values)]
                rows, work = _measured(connection, sql, values)
                problems = _sqlite_problems(step.name, lines)
                found.append(Explained(query=step.name, problems=problems, work=work, plan="\n".join([sql, *lines])))
            return rows

        drive(plan, execute)
    return found


@contextmanager
def _sqlite_connection(house: House, *, analysed: bool) -> Iterator[sqlite3.Connection]:
    """A connection whose changes are all undone, and that knows the statistics or not."""
    assert isinstance(house.outbox.database.dialect, Dialect)
    with house.outbox.database.transaction() as connection:
        connection.execute("SAVEPOINT explain")
        if not analysed:
            connection.execute("DELETE FROM sqlite_stat1")
            connection.execute("ANALYZE sqlite_schema")
        try:
            yield connection
        finally:
            connection.execute("ROLLBACK TO explain")
            connection.execute("ANALYZE sqlite_schema")


def _measured(connection: sqlite3.Connection, sql: str, values: Any) -> tuple[Rows, int]:
    """The statement's rows, and how many thousand steps they took."""
    thousands = 0

    def count() -> int:
        nonlocal thousands
        thousands += 1
        return 0

    connection.set_progress_handler(count, 1_000)
    try:
        return connection.execute(sql, values).fetchall(), thousands
    finally:
        connection.set_progress_handler(None, 0)


_SCAN = re.compile(r"SCAN (\w+)(?: USING (?:COVERING )?INDEX (\w+))?")
_STEP = re.compile(r"(?:CO-ROUTINE|MATERIALIZE) (\w+)")
_SMALL = {"postroom_picked", "postroom_outcomes", "postroom_tallies", "CONSTANT"}


def _sqlite_problems(query: str, lines: list[str]) -> tuple[str, ...]:
    """Sorted lists, and scans of tables or whole indexes, unless they are small or leave finished emails out."""
    if query in BOUNDED:
        return ()
    small = _SMALL | {step[1] for line in lines if (step := _STEP.match(line))}
    return tuple(line for line in lines if _is_sorted_list(query, line) or _is_big_scan(line, small))


def _is_sorted_list(query: str, line: str) -> bool:
    return query.startswith(("list", "edge")) and line.startswith("USE TEMP B-TREE FOR ORDER BY")


def _is_big_scan(line: str, small: set[str]) -> bool:
    scan = _SCAN.match(line)
    return (
        bool(scan)
        and "VIRTUAL TABLE" not in line
        and scan[1] not in small
        and (scan[2] or "").removeprefix("postroom_") not in PARTIAL
    )

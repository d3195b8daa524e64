"""A statement's plan, and its work in what does not depend on the machine: pages, or steps of the virtual machine."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg

from postroom import Outbox
from postroom.store.dialect import Dialect
from postroom.store.plan import News, Plan, Rows, Statement, Step, drive
from postroom.store.queries import ParameterStyle

BOUNDED = {"count_sent_without_workspace", "newest_changes", "sweep_changes"}
"""Queries that look at the newest, or oldest, so many and stop: only their work is measured."""

BIG = {"emails", "contents", "terms", "keys", "events", "changes", "attachment_uses"}
"""Tables that grow with finished emails."""

BIG_TABLE = re.compile(rf"\bpostroom_({'|'.join(sorted(BIG))})\b")

PARTIAL = {
    "emails_due", "emails_unfinished", "emails_cancelled", "emails_unannounced", "emails_to_erase", "departures_open",
}  # fmt: skip
"""Indexes that leave sent emails out: these may be read from one end to the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """One statement's plan, and the work it took."""

    query: str
    problems: tuple[str, ...]
    """What the plan does that does not belong into a hot query."""
    work: int
    plan: str


def explain_on_postgres(outbox: Outbox, plan: Plan[Any], *, generic: bool) -> list[Explained]:
    found: list[Explained] = []
    dialect = outbox.database.dialect
    with psycopg.connect(outbox.database_url, cursor_factory=psycopg.ClientCursor) as connection:
        connection.execute("SET plan_cache_mode = force_generic_plan" if generic else "SET plan_cache_mode = auto")

        def execute(step: Step) -> Rows:
            if isinstance(step, News):
                return []  # nobody listens
            assert isinstance(step, Statement)
            [(sql, values)] = dialect.speak(step, ParameterStyle.DOLLAR)
            if sql.startswith("SET LOCAL"):  # how the others are planned
                connection.execute(sql.encode())
                return []
            connection.execute(f"PREPARE asked AS {sql}".encode())
            call = f"EXECUTE asked ({', '.join(['%s'] * len(values))})" if values else "EXECUTE asked"
            connection.execute("SAVEPOINT explain")
            [[[explained]]] = connection.execute(f"EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) {call}", values)
            connection.execute("ROLLBACK TO explain")
            # Behind a pooler nothing is planned once for all, and everywhere else our sessions compile nothing.
            compiled = "JIT" in explained and not generic
            found.append(_read_postgres(step.name, explained["Plan"], compiled=compiled))
            cursor = connection.execute(call, values)
            rows = cursor.fetchall() if cursor.description else []
            connection.execute("DEALLOCATE asked")
            return rows

        drive(plan, execute)
        connection.rollback()
    return found


def _read_postgres(query: str, plan: dict[str, Any], *, compiled: bool) -> Explained:
    problems = [problem for node in _nodes(plan) if query not in BOUNDED and (problem := _postgres_problem(node))]
    if compiled:  # some hundred milliseconds, each time
        problems.append(f"is compiled first: PostgreSQL expects it to cost {plan['Total Cost']:.0f}")
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


def explain_on_sqlite(outbox: Outbox, plan: Plan[Any], *, analysed: bool) -> list[Explained]:
    found: list[Explained] = []
    dialect = outbox.database.dialect
    with _sqlite_connection(outbox, analysed=analysed) as connection:

        def execute(step: Step) -> Rows:
            if isinstance(step, News):
                return []  # nobody listens
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
def _sqlite_connection(outbox: Outbox, *, analysed: bool) -> Iterator[sqlite3.Connection]:
    """A connection whose changes are all undone, and that knows the statistics or not."""
    assert isinstance(outbox.database.dialect, Dialect)
    with outbox.database.transaction() as connection:
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

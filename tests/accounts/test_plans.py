"""What a botnet leaves behind slows nobody down: each statement at the door finds its rows by a key."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from postroom import AsyncOutbox
from postroom.accounts.values import Person
from postroom.store.plan import Statement
from postroom.store.queries import ParameterStyle

ROWS = 20_000
GROWING = ("budgets", "known_addresses", "recovery_codes")

FILL = {
    "sqlite": """
        WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {rows})
        """,
    "postgres": "WITH n (n) AS (SELECT generate_series(1, {rows}))",
}
ASKED: dict[str, dict[str, Any]] = {
    "budgets": {"names": ["a", "b"]},
    "keep_budgets": {"budgets": [{"name": "a", "spent_until": datetime(2026, 5, 17, tzinfo=UTC)}]},
    "restore_budgets": {"names": ["a"]},
    "sweep_budgets": {"limit": 50},
    "knows_address": {"person": "a", "digest": "b", "seconds": 1},
    "second_factors": {"person": "a"},
    "use_recovery_code": {"person": "a", "digest": "b"},
}


async def fill(outbox: AsyncOutbox) -> None:
    """As many rows as a large botnet makes in an hour, all of them still good."""
    dialect = outbox.database.dialect
    numbers, tables = FILL[dialect.name].format(rows=ROWS), dialect.tables
    later = "9000000000000000" if dialect.name == "sqlite" else "'2100-01-01Z'"
    now = "1" if dialect.name == "sqlite" else "now()"
    whose = "'p' || (n / 10 + 1)"
    async with outbox.transaction() as connection:
        for into in (
            f"people (id, name, role, password, created_at) {numbers} SELECT 'p' || n, n || '', '', '', {now} FROM n",
            f"budgets (name, spent_until) {numbers} SELECT 'name ' || n, {later} FROM n",
            f"known_addresses (person_id, digest, seen_at) {numbers} SELECT {whose}, n || '', {later} FROM n",
            f"recovery_codes (person_id, digest) {numbers} SELECT {whose}, 'd' || n FROM n",
        ):
            await connection.execute(f"INSERT INTO {tables}{into}")
        await connection.execute("ANALYZE")


async def plan_of(outbox: AsyncOutbox, name: str) -> str:
    """What the database means to do."""
    dialect = outbox.database.dialect
    style = ParameterStyle.NAMED if dialect.name == "sqlite" else ParameterStyle.PYFORMAT
    [(sql, values)] = dialect.speak(Statement(name, ASKED[name]), style)
    async with outbox.transaction() as connection:
        if dialect.name == "sqlite":
            return "\n".join(str(row[3]) for row in await connection.execute(f"EXPLAIN QUERY PLAN {sql}", values))
        rows = await (await connection.execute(f"EXPLAIN (FORMAT JSON) {sql}", values)).fetchall()
        return "\n".join(f"{node['Node Type']} {node.get('Relation Name')}" for node in nodes(rows[0][0][0]["Plan"]))


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from nodes(child)


async def test_no_statement_at_the_door_walks_through_a_table_that_grows(outbox: AsyncOutbox, ada: Person) -> None:
    await fill(outbox)
    tables = outbox.database.dialect.tables
    for name in ASKED:
        plan = await plan_of(outbox, name)
        lines = plan.splitlines()

        for table in GROWING:
            assert f"Seq Scan {table}" not in lines, (name, plan)
            assert f"SCAN {tables}{table}" not in lines, (name, plan)


@pytest.mark.parametrize("table", GROWING)
async def test_the_test_would_notice_a_walk(outbox: AsyncOutbox, ada: Person, table: str) -> None:
    await fill(outbox)
    tables = outbox.database.dialect.tables
    async with outbox.transaction() as connection:
        explain = "EXPLAIN QUERY PLAN" if outbox.database.dialect.name == "sqlite" else "EXPLAIN"
        found = await connection.execute(f"{explain} SELECT * FROM {tables}{table}")
        rows = found if isinstance(found, list) else await found.fetchall()

    assert "scan" in str([tuple(row) for row in rows]).lower()

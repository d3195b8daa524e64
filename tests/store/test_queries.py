"""The two files of queries stay in step with each other and with the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import postroom
from postroom.store.fields import fragments
from postroom.store.queries import ParameterStyle, Queries

SQLITE = Queries("postroom.store.sqlite", "postroom_", fragments("sqlite"))
POSTGRES = Queries("postroom.store.postgres", "postroom.", fragments("postgres"))
CODE = "\n".join(file.read_text("utf-8") for file in sorted(Path(postroom.__file__).parent.rglob("*.py")))
BEGINNINGS = re.findall(r"\bask\(\s*f\"(\w+)\{", CODE)


def is_asked(name: str) -> bool:
    """By its whole name, or by a name that is put together from a beginning and the index it walks along."""
    return f'"{name}"' in CODE or any(name.startswith(beginning) for beginning in BEGINNINGS)


def test_both_databases_are_asked_under_the_same_names() -> None:
    assert set(SQLITE.names()) - {"prepare_connection"} == set(POSTGRES.names())


def test_the_names_come_in_the_same_order_in_both_files() -> None:
    """So that comparing the two files shows how the databases differ, and nothing else."""
    common = set(SQLITE.names()) & set(POSTGRES.names())

    assert [name for name in SQLITE.names() if name in common] == [name for name in POSTGRES.names() if name in common]


def test_every_query_is_asked_and_every_question_has_its_query() -> None:
    known = {*SQLITE.names(), *POSTGRES.names()}

    assert [name for name in known if not is_asked(name)] == []
    assert set(re.findall(r"\bask\(\s*\"(\w+)\"", CODE)) <= known


@pytest.mark.parametrize("name", POSTGRES.names())
def test_both_databases_take_the_same_parameters(name: str) -> None:
    own = {"now"}  # SQLite is always given the time, PostgreSQL only in tests

    def parameters(queries: Queries) -> set[str]:
        return {each for spelled in queries.spell(name, ParameterStyle.DOLLAR) for each in spelled.order or ()} - own

    if name in ("copied", "wake_routes"):  # on SQLite there is nobody to call
        assert parameters(SQLITE) == parameters(POSTGRES) - {"routes"}
    else:
        assert parameters(SQLITE) == parameters(POSTGRES)


LOOKS_FOR_ONE = "a worker, or who looks after the deployment, asks which workspace there is something to do for"
BY_ID = "is about emails or notes by ids that no two workspaces share, and that the caller has read of its own before"
OF_SEVERAL = "tells the workspace of each row, for a message that came back may be about any; the caller goes by that"

OF_NO_WORKSPACE = {
    "plan_afresh": "is about no rows",
    "running_senders": LOOKS_FOR_ONE,
    "due_pace": LOOKS_FOR_ONE,
    "moved_pace": LOOKS_FOR_ONE,
    "next_pace": LOOKS_FOR_ONE,
    "campaigns_due": LOOKS_FOR_ONE,
    "unserved_paces": LOOKS_FOR_ONE,
    "campaign_workspaces": "lists workspaces, for those who may see them all",
    "put_mail": BY_ID,
    "last_failure": BY_ID,
    "claim_mail": BY_ID,
    "standing_of_mail": BY_ID,
    "leaves_now": BY_ID,
    "take_place": BY_ID,
    "forget_covered": BY_ID,
    "note_returned": BY_ID,
    "refusal": BY_ID,
    "mails_returned": BY_ID,
    "mails_that_are": OF_SEVERAL,
    "prospects_at": OF_SEVERAL,
}
"""Queries about campaigns that name no workspace, and why they need not."""


def names_one_workspace(queries: Queries, name: str) -> bool:
    """In each of its statements, but those that go by the rows which one before them has picked."""
    spelled = [each.sql for each in queries.spell(name, ParameterStyle.NAMED)]
    named = [":workspace" in sql for sql in spelled]
    return any(named) and all(is_named or "picked" in sql for is_named, sql in zip(named, spelled, strict=True))


@pytest.mark.parametrize("noun", ["campaigns", "campaign_mail", "campaign_pages", "prospects", "sequences"])
@pytest.mark.parametrize("package", ["sqlite", "postgres"])
def test_every_statement_about_campaigns_is_about_one_workspace(package: str, noun: str) -> None:
    """E8: a query that forgot it would show, or change, what is somebody else's."""
    folder = Path(postroom.__file__).parent / "store" / package / "queries"
    names = re.findall(r"^-- name: (\w+)$", (folder / f"{noun}.sql").read_text("utf-8"), re.MULTILINE)
    queries = SQLITE if package == "sqlite" else POSTGRES
    of_none = [name for name in names if not names_one_workspace(queries, name)]

    assert len(names) >= 5
    assert of_none == [name for name in names if name in OF_NO_WORKSPACE], "and none is excused that names one"


def test_a_percent_sign_survives_a_driver_that_formats() -> None:
    for queries in (SQLITE, POSTGRES):
        for name in queries.names():
            for spelled in queries.spell(name, ParameterStyle.PYFORMAT):
                assert spelled.sql % dict.fromkeys(re.findall(r"%\((\w+)\)s", spelled.sql), "value")


def test_casts_are_not_taken_for_parameters() -> None:
    [spelled] = POSTGRES.spell("get", ParameterStyle.DOLLAR)

    assert spelled.order == ("id",)
    assert "$1::uuid" in spelled.sql
    assert "id::text" in spelled.sql


@pytest.mark.parametrize(("package", "tables"), [("sqlite", "postroom_"), ("postgres", "postroom.")])
def test_every_table_can_live_elsewhere(package: str, tables: str) -> None:
    elsewhere = Queries(f"postroom.store.{package}", tables.replace("postroom", "mail"), fragments(package))

    for name in elsewhere.names():
        assert tables not in str(elsewhere.spell(name, ParameterStyle.NAMED))

"""What may be given as `connection=`, and what is said of everything else."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import asyncpg
import psycopg
import psycopg_pool
import pytest
import sqlalchemy
from django.db import connections as django_connections
from sqlalchemy import orm
from sqlalchemy.ext import asyncio as sqlalchemy_asyncio

from postroom.errors import UnknownConnection
from postroom.store.connections import recognise
from postroom.store.connections.transaction import Bracket, sqlite_bracket


def test_an_unknown_connection_is_named_and_the_known_kinds_are_listed() -> None:
    with pytest.raises(UnknownConnection) as refused:
        recognise(object())

    said = str(refused.value)
    assert "builtins.object" in said
    for known in ("sqlite3", "aiosqlite", "psycopg", "asyncpg", "SQLAlchemy", "Django", "outbox.transaction()"):
        assert known in said


def test_an_unknown_connection_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        recognise("postgresql://localhost/app")


def sqlite_cursor() -> sqlite3.Cursor:
    with closing(sqlite3.connect(":memory:")) as connection:
        return connection.cursor()


@pytest.mark.parametrize(
    ("mistake", "said"),
    [
        pytest.param(lambda: psycopg_pool.ConnectionPool(open=False), "a pool; give a connection", id="psycopg-pool"),
        pytest.param(
            lambda: psycopg_pool.NullConnectionPool(open=False), "a pool; give a connection", id="psycopg-null-pool"
        ),
        pytest.param(lambda: asyncpg.Pool.__new__(asyncpg.Pool), "a pool; give a connection", id="asyncpg-pool"),
        pytest.param(lambda: sqlalchemy.create_engine("sqlite://"), "an engine; give a connection", id="engine"),
        pytest.param(
            lambda: sqlalchemy_asyncio.create_async_engine("sqlite+aiosqlite://"),
            "an engine; give a connection",
            id="async-engine",
        ),
        pytest.param(orm.sessionmaker, "a session factory; give a session", id="sessionmaker"),
        pytest.param(
            sqlalchemy_asyncio.async_sessionmaker, "a session factory; give a session", id="async-sessionmaker"
        ),
        pytest.param(lambda: django_connections, r"connections\['default'\]", id="django-connections"),
        pytest.param(sqlite_cursor, r"a cursor; give its connection", id="sqlite3-cursor"),
        pytest.param(
            lambda: psycopg.Cursor.__new__(psycopg.Cursor), r"a cursor; give its connection", id="psycopg-cursor"
        ),
    ],
)
def test_what_is_nearly_a_connection_is_told_what_to_give_instead(mistake: Any, said: str) -> None:
    with pytest.raises(UnknownConnection, match=said):
        recognise(mistake())


def test_sqlalchemy_over_another_database_is_refused_with_those_that_work() -> None:
    engine = SimpleNamespace(dialect=SimpleNamespace(name="mysql", driver="pymysql"))
    session = orm.Session()
    session.get_bind = lambda *_, **__: engine  # type: ignore[method-assign,assignment,return-value]

    with pytest.raises(UnknownConnection, match=r"mysql\+pymysql.*postgresql\+asyncpg"):
        recognise(session)


def test_a_subclass_of_a_known_connection_is_known() -> None:
    class Traced(sqlite3.Connection):
        pass

    with closing(sqlite3.connect(":memory:", factory=Traced)) as connection:
        assert recognise(connection).dialect_name == "sqlite"


def test_an_object_may_say_itself_what_carries_its_plans() -> None:
    caller = object()

    assert recognise(SimpleNamespace(postroom_caller=lambda: caller)) is caller


def test_nothing_is_imported_that_the_caller_does_not_use() -> None:
    program = (
        "import sqlite3, sys\n"
        "from postroom.store.connections import recognise\n"
        "recognise(sqlite3.connect(':memory:'))\n"
        "drivers = {'psycopg', 'psycopg2', 'asyncpg', 'aiosqlite', 'sqlalchemy', 'django'}\n"
        "print(sorted(drivers & set(sys.modules)))\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert ran.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        pytest.param({"autocommit": True, "in_transaction": False}, ("BEGIN",), id="autocommit"),
        pytest.param({"autocommit": True, "in_transaction": True}, ("SAVEPOINT postroom_plan",), id="explicit-begin"),
        pytest.param({"autocommit": False, "in_transaction": True}, ("SAVEPOINT postroom_plan",), id="always-inside"),
    ],
)
def test_the_autocommit_attribute_of_later_pythons_overrules_the_isolation_level(
    facts: dict[str, bool], expected: tuple[str, ...]
) -> None:
    """From Python 3.12 on. Only a transaction of our own may be committed by us."""
    bracket: Bracket = sqlite_bracket(SimpleNamespace(isolation_level="", **facts))

    assert bracket.open == expected
    assert ("COMMIT" in bracket.close) == (not facts["in_transaction"])

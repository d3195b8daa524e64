"""What errors of the database mean, as real databases raise them."""

from __future__ import annotations

import select
import socket
import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from postroom.errors import SchemaError, StoreUnavailable
from postroom.store.failures import missing_tables, spoils_connection, translated


def test_a_missing_table_on_sqlite_is_a_matter_of_the_schema() -> None:
    with closing(sqlite3.connect(":memory:")) as connection, pytest.raises(sqlite3.OperationalError) as raised:
        connection.execute("SELECT * FROM postroom_emails")

    assert isinstance(translated(raised.value), SchemaError)
    assert "no such table: postroom_emails" in str(translated(raised.value))


@pytest.mark.parametrize("table", ["public.postroom_emails", "postroom.emails"], ids=["table", "schema"])
def test_a_missing_table_on_postgresql_is_a_matter_of_the_schema(postgres_url: str, table: str) -> None:
    with psycopg.connect(postgres_url) as connection, pytest.raises(psycopg.Error) as raised:
        connection.execute(f"SELECT * FROM {table}")  # type: ignore[arg-type]

    assert isinstance(translated(raised.value), SchemaError)


def test_a_file_that_cannot_be_opened_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(sqlite3.OperationalError) as raised:
        sqlite3.connect(tmp_path / "absent" / "outbox.db")

    assert isinstance(translated(raised.value), StoreUnavailable)


def test_a_file_that_somebody_else_is_writing_is_unavailable(tmp_path: Path) -> None:
    path = tmp_path / "outbox.db"
    with closing(sqlite3.connect(path)) as writer, closing(sqlite3.connect(path, timeout=0)) as other:
        writer.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.OperationalError) as raised:
            other.execute("BEGIN IMMEDIATE")

    assert isinstance(translated(raised.value), StoreUnavailable)


def test_a_closed_sqlite_connection_is_unavailable() -> None:
    connection = sqlite3.connect(":memory:")
    connection.close()
    with pytest.raises(sqlite3.ProgrammingError) as raised:
        connection.execute("SELECT 1")

    assert isinstance(translated(raised.value), StoreUnavailable)


def test_a_server_that_refuses_connections_is_unavailable() -> None:
    with socket.socket() as reserved:  # bound and never listening: nobody else can answer there
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
        with pytest.raises(psycopg.OperationalError) as raised:
            psycopg.connect(f"postgresql://postroom@127.0.0.1:{port}/app")

    assert isinstance(translated(raised.value), StoreUnavailable)


def test_a_server_that_ends_the_connection_is_unavailable(postgres_url: str) -> None:
    with closing(psycopg.connect(postgres_url)) as connection:
        with psycopg.connect(postgres_url, autocommit=True) as administrator:
            administrator.execute("SELECT pg_terminate_backend(%s, 10000)", (connection.info.backend_pid,))
        with pytest.raises(psycopg.OperationalError) as ended:
            connection.execute("SELECT 1")
        with pytest.raises(psycopg.OperationalError) as gone:
            connection.execute("SELECT 1")

    assert isinstance(translated(ended.value), StoreUnavailable)
    assert isinstance(translated(gone.value), StoreUnavailable)


PASSING = {
    "57014": "statement_timeout",
    "55P03": "lock_timeout",
    "25006": "read only",
    "25P03": "idle in transaction",
}


@pytest.mark.parametrize("state", PASSING)
def test_trouble_of_a_server_that_passes_is_unavailable(postgres_url: str, state: str) -> None:
    with psycopg.connect(postgres_url) as holder, closing(psycopg.connect(postgres_url)) as connection:
        holder.execute("CREATE TABLE held (); COMMIT; BEGIN; LOCK TABLE held")
        with pytest.raises(psycopg.Error) as raised:
            _meet(connection, state)

    assert raised.value.sqlstate == state
    assert isinstance(translated(raised.value), StoreUnavailable)
    assert spoils_connection(raised.value) == (state not in ("57014", "55P03"))


def _meet(connection: psycopg.Connection[tuple[object, ...]], state: str) -> None:
    match state:
        case "57014":
            connection.execute("SET statement_timeout = 20; SELECT pg_sleep(60)")
        case "55P03":
            connection.execute("SET lock_timeout = 20; LOCK TABLE held")
        case "25006":
            connection.execute("SET TRANSACTION READ ONLY; CREATE TABLE more ()")
        case "25P03":
            connection.execute("SET idle_in_transaction_session_timeout = 20")
            select.select([connection.fileno()], [], [], 60)
            connection.execute("SELECT 1")


@pytest.mark.parametrize("state", ["57P05", "57P04", "53100", "53200", "53300", "25P04", "58030", "40003", "08006"])
def test_others_of_the_kind_are_unavailable_and_spoil_the_connection(state: str) -> None:
    error = psycopg.errors.lookup(state)("said by a server") if state != "25P04" else _Said(state)

    assert isinstance(translated(error), StoreUnavailable)
    assert spoils_connection(error)


@pytest.mark.parametrize("state", ["XX000", "XX001", "22P02", "23505", "42501", "25P02"])
def test_what_does_not_pass_by_waiting_is_not_taken_for_it(state: str) -> None:
    error = psycopg.errors.lookup(state)("said by a server")

    assert translated(error) is None
    assert not spoils_connection(error)


class _Said(psycopg.OperationalError):
    """One that psycopg has no class for yet."""

    def __init__(self, state: str) -> None:
        super().__init__("said by a server")
        self.sqlstate = state


def test_an_error_is_recognised_behind_what_wraps_it() -> None:
    with closing(sqlite3.connect(":memory:")) as connection, pytest.raises(sqlite3.Error) as raised:
        connection.execute("SELECT * FROM postroom_emails")
    wrapped = RuntimeError("said by a framework")
    wrapped.__cause__ = raised.value

    assert isinstance(missing_tables(wrapped), SchemaError)


def test_a_chain_that_bites_its_tail_is_looked_at_once() -> None:
    error = sqlite3.IntegrityError("UNIQUE constraint failed")
    error.__cause__ = error

    assert translated(error) is None


def test_other_errors_are_nobody_elses(postgres_url: str) -> None:
    with closing(sqlite3.connect(":memory:")) as connection, pytest.raises(sqlite3.Error) as on_sqlite:
        connection.execute("SELECT nonsense")
    with psycopg.connect(postgres_url) as connection, pytest.raises(psycopg.Error) as on_postgres:
        connection.execute("SELECT 1 / 0")

    assert translated(on_sqlite.value) is None
    assert translated(on_postgres.value) is None
    assert translated(ValueError("no database in sight")) is None

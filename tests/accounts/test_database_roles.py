"""On PostgreSQL a reader sees nothing of what lets people in."""

from __future__ import annotations

import psycopg
import pytest

from postroom import Outbox
from postroom.store.migrate import roles_script
from tests.store.test_roles import CREATE_USER, apply_roles


@pytest.fixture
def reader_url(migrated_postgres_url: str) -> str:
    with Outbox(migrated_postgres_url) as outbox:
        apply_roles(migrated_postgres_url, roles_script(outbox.database.dialect))
    apply_roles(migrated_postgres_url, CREATE_USER.format(user="postroom_reader_tester", role="postroom_reader"))
    return migrated_postgres_url.replace("://postroom@", "://postroom_reader_tester@")


@pytest.mark.parametrize(
    "table",
    [
        "people",
        "people_secrets",
        "sessions",
        "codes",
        "tokens",
        "authenticators",
        "recovery_codes",
        "known_addresses",
        "budgets",
    ],
)
def test_a_reader_sees_no_password_key_session_code_or_token(reader_url: str, table: str) -> None:
    with psycopg.connect(reader_url) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(f"SELECT * FROM postroom.{table}".encode())


def test_a_reader_sees_the_audit_log(reader_url: str) -> None:
    with psycopg.connect(reader_url) as connection:
        assert connection.execute("SELECT * FROM postroom.audit").fetchall() == []

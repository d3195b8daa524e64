"""An outbox whose emails come back to addresses of their own, on both stores."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from postroom import Email, EmailId, Outbox
from postroom.testing import ScriptedSmtp
from tests.returns.intake.post import OURS
from tests.store.conftest import migrated_postgres_url, migrated_sqlite_url, migrated_template, store_url

__all__ = ["migrated_postgres_url", "migrated_sqlite_url", "migrated_template", "store_url"]


@pytest.fixture(autouse=True)
def own_surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("POSTROOM_", "SMTP_")) and not name.startswith("POSTROOM_TEST_"):
            monkeypatch.delenv(name)
    for name, value in OURS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def server() -> Iterator[ScriptedSmtp]:
    with ScriptedSmtp() as server:
        yield server


@pytest.fixture
def outbox(store_url: str, server: ScriptedSmtp) -> Iterator[Outbox]:
    with Outbox(store_url, smtp=server.url) as outbox:
        yield outbox


@pytest.fixture
def ours(outbox: Outbox) -> EmailId:
    """An email to Ada that was sent."""
    return EmailId(outbox.send(Email(to="ada@example.org", subject="Hi", text="Hello"), durable=True).id)

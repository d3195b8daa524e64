"""An outbox that sends inline, on both stores, to a mail server that does as it is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from postroom import Outbox
from postroom.testing import ScriptedSmtp
from tests.store.conftest import migrated_postgres_url, migrated_sqlite_url, migrated_template, store_url

__all__ = ["migrated_postgres_url", "migrated_sqlite_url", "migrated_template", "store_url"]


@pytest.fixture
def server() -> Iterator[ScriptedSmtp]:
    with ScriptedSmtp() as server:
        yield server


@pytest.fixture
def journals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of journals, the same for everybody in one test."""
    monkeypatch.setenv("POSTROOM_JOURNAL", str(tmp_path / "journals"))
    return tmp_path / "journals"


@pytest.fixture
def outbox(store_url: str, server: ScriptedSmtp, journals: Path) -> Iterator[Outbox]:
    with Outbox(store_url, smtp=server.url, sender="desk@example.org") as outbox:
        yield outbox

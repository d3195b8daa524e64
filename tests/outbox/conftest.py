"""An outbox that sends inline, on both stores, to a mail server that does as it is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from postroom.testing import ScriptedSmtp
from tests.outbox.shells import SHELLS
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


@pytest.fixture(params=SHELLS)
def make_outbox(request: pytest.FixtureRequest, store_url: str, journals: Path) -> Iterator[Callable[..., Any]]:
    """Makes outboxes over the test's database, of either shell; they are closed at the end."""
    with ExitStack() as stack:
        shell = SHELLS[request.param]

        def make(**settings: Any) -> Any:
            return stack.enter_context(shell(store_url, **{"sender": "desk@example.org", **settings}))

        yield make


@pytest.fixture
def outbox(make_outbox: Callable[..., Any], server: ScriptedSmtp) -> Any:
    """An outbox that can send."""
    return make_outbox(smtp=server.url)

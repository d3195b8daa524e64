"""An outbox that API tests fill by hand."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from postroom import Outbox
from tests.accounts.quick import in_earnest, quick_passwords

__all__ = ["in_earnest", "quick_passwords"]


@pytest.fixture
def outbox(sqlite_url: str) -> Iterator[Outbox]:
    with Outbox(sqlite_url) as outbox:
        outbox.migrate()
        yield outbox

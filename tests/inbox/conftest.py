"""A dev inbox of the test's own, and an outbox that sends to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from postroom import Outbox, RetryPolicy
from postroom.inbox import DevInbox


@pytest.fixture
def inbox() -> Iterator[DevInbox]:
    """Running, on free ports, in memory; its slowness is over quickly."""
    with DevInbox(pause=0.01) as inbox:
        yield inbox


@pytest.fixture
def client(inbox: DevInbox) -> Iterator[httpx.Client]:
    """A browser without a screen, at the inbox's page."""
    with httpx.Client(base_url=inbox.url, trust_env=False, timeout=30) as client:
        yield client


@pytest.fixture
def outbox(inbox: DevInbox, tmp_path: Path) -> Iterator[Outbox]:
    """Its way out leads to the inbox."""
    impatient = RetryPolicy(name="impatient", steps=["100ms"], max_attempts=50)
    with Outbox(
        f"sqlite:///{tmp_path / 'outbox.db'}",
        smtp=inbox.smtp_url,
        sender="Desk <desk@example.org>",
        policies={"impatient": impatient},
    ) as outbox:
        outbox.migrate()
        yield outbox

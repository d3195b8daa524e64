"""Pytest fixtures; use them with `pytest_plugins = ["postroom.testing.fixtures"]` in the top-level conftest.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from postroom.outbox import Outbox
from postroom.send.memory import MemoryTransport
from postroom.testing.http import ScriptedHttp
from postroom.testing.proxy import FaultProxy
from postroom.testing.smtp import ScriptedSmtp


@pytest.fixture
def smtp_server() -> Iterator[ScriptedSmtp]:
    """A mail server of the test's own, listening on 127.0.0.1; see `ScriptedSmtp`."""
    with ScriptedSmtp() as server:
        yield server


@pytest.fixture
def http_server() -> Iterator[ScriptedHttp]:
    """A web server of the test's own, listening on 127.0.0.1; see `ScriptedHttp`."""
    with ScriptedHttp() as server:
        yield server


@pytest.fixture
def fault_proxy() -> Iterator[Callable[..., FaultProxy]]:
    """Makes a proxy to a port: `proxy = fault_proxy(target_port=5432)`; see `FaultProxy`."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(FaultProxy(**options))


@pytest.fixture
def memory_transport() -> MemoryTransport:
    """A transport that keeps what it is given; see `MemoryTransport`."""
    return MemoryTransport()


@pytest.fixture
def postroom_outbox(tmp_path: Path, memory_transport: MemoryTransport) -> Iterator[Outbox]:
    """An outbox on a database of the test's own, whose emails end in `memory_transport`; closed with the test.

    Nothing comes from the settings of whoever runs the test but what is not said here.
    """
    url = f"sqlite:///{tmp_path / 'postroom.db'}"
    with Outbox(url, transport=memory_transport, sender="Postroom tests <tests@example.org>") as outbox:
        outbox.migrate()
        yield outbox

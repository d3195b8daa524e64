"""`postroom web` as a process: whom it lets start it how, and that it stops when asked."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator

import httpx
import pytest

from postroom import Outbox
from postroom.accounts.accounts import add_person
from postroom.accounts.values import Role
from tests.admin.desk import COMMAND, served


@pytest.fixture
def outbox(sqlite_url: str) -> Iterator[Outbox]:
    with Outbox(sqlite_url) as outbox:
        outbox.migrate()
        yield outbox


def refused(outbox: Outbox, *arguments: str) -> str:
    """What it says when it does not start."""
    ended = subprocess.run(
        [*COMMAND, *arguments],
        env={**os.environ, "POSTROOM_DATABASE": outbox.database_url},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2, ended.stderr
    return ended.stderr


def test_it_does_not_start_when_nobody_could_sign_in(outbox: Outbox) -> None:
    """(C4)"""
    said = refused(outbox)

    assert "postroom user add" in said
    assert "--dev" in said


def test_dev_is_for_this_machine_only(outbox: Outbox) -> None:
    assert "--dev" in refused(outbox, "--dev", "--host", "0.0.0.0")


def test_a_port_that_is_taken_is_told(outbox: Outbox) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])

        assert f"port {port}" in refused(outbox, "--dev", "--port", port)


def test_with_somebody_who_may_sign_in_it_serves_and_lets_nobody_else_in(outbox: Outbox) -> None:
    outbox.database.run(add_person("grace@example.org", role=Role.ADMIN, password="none"))

    with served(outbox) as (address, process):
        ready = httpx.get(f"{address}/readyz")
        inside = httpx.get(f"{address}/api/admin/dashboard")
        process.send_signal(signal.SIGTERM)
        code = process.wait(30)

    assert (ready.status_code, inside.status_code) == (200, 401)
    assert code == 0


def test_dev_lets_whoever_sits_at_this_machine_in(outbox: Outbox) -> None:
    with served(outbox, "--dev") as (address, _process):
        response = httpx.get(f"{address}/api/admin/dashboard")
        by_another_name = httpx.get(f"{address}/api/admin/dashboard", headers={"Host": "evil.example"})

    assert response.status_code == 200
    assert by_another_name.status_code == 401

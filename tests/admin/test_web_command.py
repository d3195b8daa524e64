"""`postroom web` as a process: whom it lets start it how, and that it stops when asked."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

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


@pytest.fixture
def two_regions(tmp_path: Path) -> Path:
    """A folder whose `postroom.toml` names two regions, in neither of which anybody may sign in yet."""
    tables = [f'[regions.{name}]\ndatabase = "sqlite:///{name}.db"\n' for name in ("deu1", "usa1")]
    (tmp_path / "postroom.toml").write_text("".join(tables))
    for name in ("deu1", "usa1"):
        with Outbox(f"sqlite:///{tmp_path / name}.db") as outbox:
            outbox.migrate()
    return tmp_path


def test_over_regions_it_starts_where_somebody_may_sign_in_to_one_of_them(two_regions: Path) -> None:
    """(C1, C4)"""
    without = subprocess.run(COMMAND, cwd=two_regions, capture_output=True, text=True, check=False)
    with Outbox(f"sqlite:///{two_regions}/usa1.db") as usa1:
        usa1.database.run(add_person("grace@usa1.example", role=Role.ADMIN, password="none"))
    with subprocess.Popen(COMMAND, cwd=two_regions, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        told = process.stderr.readline()
        serving = re.search(r"http://[^/\s]+", process.stderr.readline())
        assert serving is not None
        overview = httpx.get(f"{serving[0]}/", follow_redirects=True)
        process.send_signal(signal.SIGTERM)
        code = process.wait(30)

    assert (without.returncode, code) == (2, 0)
    assert "nobody may sign in to any region yet" in without.stderr
    assert told.startswith("deu1: nobody may sign in yet")
    assert (overview.url.path, overview.status_code) == ("/regions", 200)


def test_one_region_may_be_served_alone(two_regions: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "--dev", "--region", "usa1"], cwd=two_regions, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        serving = re.search(r"http://\S+/admin", process.stderr.readline())
        assert serving is not None
        page = httpx.get(serving[0])
        process.send_signal(signal.SIGTERM)
        process.wait(30)

    assert '<span class="region" title="Region"><b>usa1</b></span>' in page.text

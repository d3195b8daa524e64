"""The private PostgreSQL comes when it is needed and goes with whoever needed it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import psutil
import psycopg
import pytest

from tests.servers import postgres
from tests.servers.postgres_cluster import PostgresCluster, find_programs

ROOT = Path(__file__).resolve().parents[2]


def pretend_programs(directory: Path, version: str) -> Path:
    """Server programs that can only tell their version."""
    directory.mkdir(parents=True)
    for name in ("initdb", "pg_ctl", "postgres"):
        program = directory / name
        program.write_text(f"#!/bin/sh\necho 'postgres (PostgreSQL) {version}'\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return directory


def test_absent_server_programs_are_an_error_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="apt-get install postgresql"):
        find_programs([tmp_path])


def test_server_programs_that_are_too_old_count_as_absent(tmp_path: Path) -> None:
    old = pretend_programs(tmp_path / "13", "13.18")

    with pytest.raises(RuntimeError, match="version 14 or newer"):
        find_programs([old])


def test_the_newest_server_programs_are_chosen(tmp_path: Path) -> None:
    directories = [pretend_programs(tmp_path / version, version) for version in ("9.6.24", "16.4", "17beta1", "14.2")]

    assert find_programs(directories) == tmp_path / "17beta1"


def test_each_database_is_empty_and_gone_afterwards(postgres_server: postgres.PostgresServer) -> None:
    with postgres_server.database() as first, psycopg.connect(first) as connection:
        connection.execute("CREATE TABLE letters (id int)")
        connection.commit()
        with postgres_server.database() as second, psycopg.connect(second) as other:
            found = other.execute("SELECT to_regclass('letters')").fetchone()

    assert found == (None,)
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(first)


def test_a_database_can_be_a_copy_of_a_prepared_one(postgres_server: postgres.PostgresServer) -> None:
    with postgres_server.database() as prepared:
        with psycopg.connect(prepared) as connection:
            connection.execute("CREATE TABLE letters AS SELECT 7 AS id")
        with (
            postgres_server.database(template=prepared.rpartition("/")[2]) as copy,
            psycopg.connect(copy) as connection,
        ):
            found = connection.execute("SELECT id FROM letters").fetchone()

    assert found == (7,)


def test_a_given_server_is_used_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(postgres.VARIABLE, "postgresql://somebody@db.example/postgres?sslmode=require")

    with postgres.server() as given:
        assert given.url_of("mine") == "postgresql://somebody@db.example/mine?sslmode=require"


def test_a_server_does_not_outlive_an_owner_who_is_killed() -> None:
    owner = subprocess.Popen(
        [sys.executable, "-m", "tests.servers.postgres", "--run", "--", sys.executable, "-c", TELL_SERVER_AND_WAIT],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name != postgres.VARIABLE},
        stdout=subprocess.PIPE,
        stdin=subprocess.PIPE,
        text=True,
    )
    with owner:
        assert owner.stdout is not None
        server = psutil.Process(int(owner.stdout.readline()))
        was_running = server.is_running()
        owner.kill()
        server.wait(60)

    assert was_running
    assert not server.is_running()


def test_a_cluster_can_go_away_and_come_back_at_the_same_address() -> None:
    with PostgresCluster.create() as cluster:
        url = cluster.url
        cluster.stop(mode="immediate")
        with pytest.raises(psycopg.OperationalError, match="refused"):
            psycopg.connect(url)
        cluster.start()
        with psycopg.connect(url) as connection:
            answer = connection.execute("SELECT 1").fetchone()

    assert cluster.url == url
    assert answer == (1,)
    assert not cluster.directory.exists()


TELL_SERVER_AND_WAIT = """
import os, sys, psycopg
with psycopg.connect(os.environ["POSTROOM_TEST_POSTGRES"]) as connection:
    file = connection.execute("SELECT pg_read_file('postmaster.pid')").fetchone()[0]
    print(file.splitlines()[0], flush=True)
sys.stdin.read()
"""

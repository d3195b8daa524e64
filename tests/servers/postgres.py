"""A private PostgreSQL: its own data directory and free port, a non-root user, gone when its owner is.

Tests and benchmarks ask for `server()`. It uses the server named by `POSTROOM_TEST_POSTGRES` when there is one, and
otherwise starts a private one. A small guardian process owns the private server and waits for the end of its standard
input, which comes when the owner says so and also when the owner is killed: no server is left behind.

As a command it gives one server to everything that another command starts:

    python -m tests.servers.postgres --run -- pytest -n 2
"""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

from tests.servers.lending import lend
from tests.servers.postgres_cluster import PostgresCluster

VARIABLE = "POSTROOM_TEST_POSTGRES"


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresServer:
    """A running server on which databases may be made."""

    url: str
    """Names the maintenance database, as a user who may create databases and roles."""

    def url_of(self, database: str) -> str:
        """The URL of another database on this server."""
        return urlsplit(self.url)._replace(path=f"/{database}").geturl()

    @contextmanager
    def database(self, *, template: str = "template1") -> Iterator[str]:
        """The URL of a fresh copy of `template`, dropped afterwards whoever is still connected to it."""
        name = f"postroom_test_{secrets.token_hex(6)}"
        self._execute(f"CREATE DATABASE {{}} TEMPLATE {{}}{self._strategy()}", name, template)
        try:
            yield self.url_of(name)
        finally:
            self._execute("DROP DATABASE {} WITH (FORCE)", name)

    def _strategy(self) -> str:
        """Copying files takes half as long as copying pages through the log, since there is a choice."""
        return " STRATEGY file_copy" if _version(self.url) >= 15 else ""

    def _execute(self, statement: str, *names: str) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


@cache
def _version(url: str) -> int:
    with psycopg.connect(url) as connection:
        return connection.info.server_version // 10_000


@contextmanager
def server(*, durable: bool = False) -> Iterator[PostgresServer]:
    """The given server, or a private one for as long as the context lasts.

    A private server forgoes fsync unless it is to be `durable`, as measurements need it.
    """
    if given := os.environ.get(VARIABLE):
        yield PostgresServer(url=given)
        return
    command = [sys.executable, "-m", "tests.servers.postgres", "--guard", *(["--durable"] if durable else [])]
    # Its own session, so that Ctrl-C reaches the owner only, who then ends the guardian in good order.
    guardian = subprocess.Popen(
        command, cwd=_root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    with guardian:
        assert guardian.stdin is not None
        assert guardian.stdout is not None
        try:
            url = guardian.stdout.readline().strip()
            if not url:
                raise RuntimeError("PostgreSQL did not start: standard error says why")
            yield PostgresServer(url=url)
        finally:
            guardian.stdin.close()
            guardian.wait()


def guard(*, durable: bool) -> int:
    """Keep a private server, its URL told on standard output, until standard input ends."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    try:
        with PostgresCluster.create(durable=durable) as cluster:
            print(cluster.url, flush=True)
            sys.stdin.read()
    except RuntimeError as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.servers.postgres", description="A private PostgreSQL.")
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--run", action="store_true", help=f"run a command with {VARIABLE} set")
    mode.add_argument("--guard", action="store_true", help="print a URL and serve until standard input ends")
    parser.add_argument("--durable", action="store_true", help="with fsync, as in production")
    parser.add_argument("command", nargs="*", help="after --")
    arguments = parser.parse_args()
    if arguments.guard:
        return guard(durable=arguments.durable)
    if not arguments.command:
        parser.error("--run needs a command after --")
    return lend(server(durable=arguments.durable), arguments.command, variable=VARIABLE)


_root = Path(__file__).resolve().parents[2]


if __name__ == "__main__":
    sys.exit(main())

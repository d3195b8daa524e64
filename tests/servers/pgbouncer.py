"""A private PgBouncer in transaction mode before a PostgreSQL server: a few sessions that many clients share."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from tests.servers.postgres_cluster import free_port, owner

REMEDY = "PgBouncer was not found: run `make test`, which installs it, or `apt-get install pgbouncer`"
SESSIONS = 2
"""Fewer than a worker has connections, so that it cannot help but share."""
PATIENCE = 30.0


@contextmanager
def pooler(url: str) -> Iterator[str]:
    """The URL of the same database through a pooler, for as long as the context lasts."""
    program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        raise RuntimeError(REMEDY)
    parts, port = urlsplit(url), free_port()
    with tempfile.TemporaryDirectory(prefix="postroom-pgbouncer-") as directory:
        settings, log = Path(directory, "pgbouncer.ini"), Path(directory, "log")
        settings.write_text(_settings(url, port, log))
        user, group = owner() if os.geteuid() == 0 else (None, None)
        if user is not None and group is not None:
            os.chown(directory, user, group)
        with subprocess.Popen(
            [program, settings], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            user=user, group=group, extra_groups=[] if user else None,
        ) as process:  # fmt: skip
            try:
                pooled = parts._replace(netloc=f"{parts.username or 'postroom'}@127.0.0.1:{port}").geturl()
                _wait(pooled, process, log)
                yield pooled
            finally:
                process.kill()


def _settings(url: str, port: int, log: Path) -> str:
    """As whoever the server's URL says, whatever a client calls itself."""
    server = urlsplit(url)
    password = f" password={server.password}" if server.password else ""
    return f"""
[databases]
* = host={server.hostname} port={server.port or 5432} user={server.username}{password}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {SESSIONS}
max_client_conn = 200
logfile = {log}
"""


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            psycopg.connect(url).close()
        except psycopg.OperationalError as error:
            if process.poll() is not None or time.monotonic() > end:
                said = log.read_text() if log.exists() else "nothing"
                raise RuntimeError(f"PgBouncer did not start, and said: {said}") from error
            time.sleep(0.05)
        else:
            return

"""`postroom web` as a process, and what can be done to it over bare sockets."""

from __future__ import annotations

import os
import re
import select
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import urlsplit

import psutil

from postroom import Outbox

COMMAND = [sys.executable, "-m", "postroom.cli", "web", "--port", "0"]
PATIENCE = 60.0
"""Seconds until a test gives up; nothing is measured by it."""


@contextmanager
def served(outbox: Outbox, *arguments: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The address it serves at, and the process."""
    environment = {**os.environ, "POSTROOM_DATABASE": outbox.database_url}
    with subprocess.Popen([*COMMAND, *arguments], env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            found = re.search(r"http://[^/\s]+", line)
            assert found, line + process.stderr.read()
            yield found[0], process
        finally:
            process.kill()


class Desk:
    """A running `postroom web`, seen by its peers."""

    def __init__(self, address: str, process: subprocess.Popen[str]) -> None:
        self.address = address
        self.process = psutil.Process(process.pid)
        parts = urlsplit(address)
        assert parts.hostname is not None
        assert parts.port is not None
        self.place = (parts.hostname, parts.port)

    def connect(self) -> socket.socket:
        return socket.create_connection(self.place, timeout=PATIENCE)

    def ask(self, path: str = "/healthz", *headers: str) -> bytes:
        """The whole answer to a request on a connection of its own."""
        with self.connect() as connection:
            connection.sendall(head("GET", path, "Connection: close", *headers))
            return rest(connection)

    @property
    def memory(self) -> int:
        """Bytes that it takes now."""
        return int(self.process.memory_info().rss)


@contextmanager
def desk(outbox: Outbox, *arguments: str) -> Iterator[Desk]:
    with served(outbox, *arguments) as (address, process):
        yield Desk(address, process)


def answered_meanwhile(web: Desk, busy: Sequence[socket.socket]) -> int:
    """How many others were served, one after the other, until each of these had its answer."""
    served = 0
    while len(select.select(busy, [], [], 0)[0]) < len(busy):
        assert web.ask().startswith(b"HTTP/1.1 200")
        served += 1
    return served


def head(method: str, path: str, *headers: str) -> bytes:
    return "\r\n".join((f"{method} {path} HTTP/1.1", "Host: localhost", *headers, "", "")).encode()


def rest(connection: socket.socket) -> bytes:
    """Everything until the other side ends; a reset is an end too."""
    read = b""
    try:
        while piece := connection.recv(65_536):
            read += piece
    except ConnectionError:
        pass
    return read


def answered(connection: socket.socket) -> int:
    """The status of the next answer, read no further than its head."""
    read = b""
    while b"\r\n\r\n" not in read:
        piece = connection.recv(1)
        assert piece, f"it ended after {read!r}"
        read += piece
    return int(read.split(b" ")[1])

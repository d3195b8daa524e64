"""Peers that open connections to `postroom web` and keep them: half a request, half a body, an unread answer."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from postroom import Email, Outbox
from postroom.accounts.values import Role
from postroom.admin import bodies, connections
from postroom.admin.app import build
from postroom.admin.serving import Config, Server
from postroom.outbox import AsyncOutbox
from tests.admin.callers import token_for
from tests.admin.desk import PATIENCE, Desk, answered, desk, head, rest, served

FORM = "Content-Type: application/x-www-form-urlencoded"
HALF_A_HEAD = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
HALF_A_BODY = head("POST", "/admin/sign-in", FORM, "Content-Length: 1000") + b"name=ada"


@pytest.fixture
def outbox(sqlite_url: str) -> Iterator[Outbox]:
    with Outbox(sqlite_url, sender="desk@example.org") as outbox:
        outbox.migrate()
        token_for(outbox, Role.ADMIN)
        yield outbox


class Inside:
    """The same server in a thread of this process, where a test may look inside and shorten its patience."""

    def __init__(self, database: str, *, places: int) -> None:
        self._database = database
        self._places = places
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.place = self.listening.getsockname()
        self.server: Any = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    async def _serve(self) -> None:
        async with AsyncOutbox(self._database) as outbox:
            self.server = Server(Config(build(outbox), places=self._places, log_config=None))
            await self.server.serve(sockets=[self.listening])

    def __enter__(self) -> Inside:
        self._thread.start()
        return self

    def __exit__(self, *details: object) -> None:
        self.server.should_exit = True
        self._thread.join()

    def connect(self) -> socket.socket:
        return socket.create_connection(self.place, timeout=PATIENCE)


@contextmanager
def crowd(place: Any, size: int, saying: bytes) -> Iterator[list[socket.socket]]:
    """So many connections that all say this and then nothing more."""
    with ExitStack() as stack:
        peers = []
        for _ in range(size):
            peer = stack.enter_context(socket.create_connection(place, timeout=PATIENCE))
            peer.sendall(saying)
            peers.append(peer)
        yield peers


@pytest.mark.parametrize("saying", [b"", HALF_A_HEAD, HALF_A_BODY], ids=["nothing", "half a head", "half a body"])
def test_six_hundred_who_keep_us_waiting_keep_nobody_else_from_being_served(outbox: Outbox, saying: bytes) -> None:
    with desk(outbox) as web, crowd(web.place, 600, saying) as peers:
        answers = [web.ask() for _ in range(5)]
        held = len(web.process.net_connections(kind="tcp")) - 1

        assert all(answer.startswith(b"HTTP/1.1 200") for answer in answers)
        assert held <= 500
        # Whoever came first has kept us waiting for longest, and was left.
        assert not rest(peers[0]).startswith(b"HTTP/1.1 200")


def test_with_fewer_places_fewer_are_held(outbox: Outbox) -> None:
    with desk(outbox, "--connections", "5") as web, crowd(web.place, 20, HALF_A_HEAD):
        answer = web.ask()
        held = len(web.process.net_connections(kind="tcp")) - 1

    assert answer.startswith(b"HTTP/1.1 200")
    assert held <= 5


def test_what_somebody_sends_is_not_given_up_for_a_crowd(outbox: Outbox) -> None:
    """Half an email of somebody who is signed in, then a crowd, then the other half."""
    token = f"Authorization: Bearer {token_for(outbox, Role.OPERATOR)}"
    body = b'{"to": "ada@example.org", "text": "Hello"}'
    with desk(outbox, "--connections", "5") as web, web.connect() as sender:
        length = f"Content-Length: {len(body)}"
        sender.sendall(
            head("POST", "/api/emails", "Content-Type: application/json", length, token, "Expect: 100-continue")
        )
        assert answered(sender) == 100  # it knows by now who sends
        with crowd(web.place, 20, HALF_A_HEAD):
            web.ask()
            sender.sendall(body)

            assert answered(sender) == 201


def test_a_head_that_does_not_come_is_not_waited_for(outbox: Outbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD", 0.1)
    with Inside(outbox.database_url, places=5) as inside, inside.connect() as peer:
        peer.sendall(HALF_A_HEAD)

        assert rest(peer).startswith(b"HTTP/1.1 408")


def test_a_body_that_does_not_come_is_not_waited_for(outbox: Outbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "GRACE", 0.1)
    monkeypatch.setattr(connections, "LINGER", 0.1)
    with Inside(outbox.database_url, places=5) as inside, inside.connect() as peer:
        peer.sendall(HALF_A_BODY)

        assert rest(peer).startswith(b"HTTP/1.1 408")  # and then it is closed, though the body was never sent


def test_a_body_that_nobody_wants_is_thrown_away_only_for_a_while(
    outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "LINGER", 0.1)
    with Inside(outbox.database_url, places=5) as inside, inside.connect() as peer:
        peer.sendall(head("POST", "/api/emails", "Content-Type: application/json", "Content-Length: 1000") + b"{")

        assert rest(peer).startswith(b"HTTP/1.1 401")


def test_who_sends_a_body_that_nobody_wants_gets_the_answer_all_the_same(outbox: Outbox) -> None:
    """Closing a connection with bytes in it that were not read would reset it, and take the answer away."""
    with desk(outbox) as web, web.connect() as peer:
        peer.sendall(
            head(
                "POST", "/api/emails", "Content-Type: application/json", "Content-Length: 3000000", "Connection: close"
            )
        )
        peer.sendall(b" " * 3_000_000)

        assert rest(peer).startswith(b"HTTP/1.1 401")


def test_who_does_not_read_the_answer_is_left(outbox: Outbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "STALLED", 0.1)
    id = outbox.enqueue(Email(to="ada@example.org", subject="Long", text="0123456789" * 1_500_000)).id
    token = f"Authorization: Bearer {token_for(outbox, Role.VIEWER)}"
    with Inside(outbox.database_url, places=5) as inside, inside.connect() as peer:
        peer.sendall(head("GET", f"/admin/email-queue/{id}/source", token))
        assert peer.recv(1) == b"H"
        while inside.server.server_state.connections:
            threading.Event().wait(0.01)

        assert len(rest(peer)) < 15_000_000


@pytest.mark.parametrize("path", ["/healthz", "/admin/sign-in"])
def test_small_answers_leave_at_once(outbox: Outbox, path: str) -> None:
    """Head and body are two writes: without TCP_NODELAY the second waits for the first to be acknowledged."""
    with Inside(outbox.database_url, places=5) as inside, inside.connect() as peer:
        peer.sendall(head("GET", path))
        assert answered(peer) == 200
        [connection] = inside.server.server_state.connections
        accepted = connection.transport.get_extra_info("socket")

        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0


def test_a_crowd_does_not_keep_it_from_stopping(outbox: Outbox) -> None:
    with served(outbox) as (address, process):
        web = Desk(address, process)
        with crowd(web.place, 20, HALF_A_HEAD):
            web.ask()
            process.send_signal(signal.SIGTERM)

            assert process.wait(PATIENCE) == 0

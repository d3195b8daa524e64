"""What is sent to `postroom web` by whoever wants to stop it: bodies that are large, intricate or slow.

Each attack is played against a real process over a real socket; that others are served is seen by serving them while
the attack is still going on.
"""

from __future__ import annotations

import base64
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from postroom import Outbox
from postroom.accounts.values import Role
from postroom.admin.bodies import AT_THE_DOOR, GRACE, SLOWEST, Room, due
from postroom.admin.parsing import values_in
from tests.admin.callers import token_for
from tests.admin.desk import Desk, answered, answered_meanwhile, desk, head

LARGE = 36_000_000
MEGABYTE = 1024 * 1024

LISTS = b'{"to":"a@example.org","text":"x","tags":[' + b"[]," * (LARGE // 3) + b"[]]}"
"""Twelve million values."""


@pytest.fixture
def outbox(sqlite_url: str) -> Iterator[Outbox]:
    with Outbox(sqlite_url, sender="desk@example.org") as outbox:
        outbox.migrate()
        token_for(outbox, Role.ADMIN)
        yield outbox


class Peak:
    """The most memory that a process took while this was going on."""

    def __init__(self, served: Desk) -> None:
        self._served = served
        self._over = threading.Event()
        self._before = self._most = served.memory
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Peak:
        self._thread.start()
        return self

    def __exit__(self, *details: object) -> None:
        self._over.set()
        self._thread.join()

    @property
    def grown(self) -> int:
        return self._most - self._before

    def _watch(self) -> None:
        while not self._over.wait(0.002):
            self._most = max(self._most, self._served.memory)


def post(served: Desk, body: bytes, *headers: str, path: str = "/api/emails") -> int:
    """The status of the answer to a body, however much of it was taken."""
    with served.connect() as connection:
        connection.sendall(
            head("POST", path, "Content-Type: application/json", f"Content-Length: {len(body)}", *headers)
        )
        sending = threading.Thread(target=_send, args=(connection, body))
        sending.start()
        status = answered(connection)
        connection.shutdown(socket.SHUT_RDWR)
        sending.join()
        return status


def _send(connection: socket.socket, body: bytes) -> None:
    with suppress(OSError):  # it has read enough
        connection.sendall(body)


def test_nobody_is_refused_before_the_body_is_there(outbox: Outbox) -> None:
    """The answer is there though of 36 MB no more than the first bytes were ever sent."""
    with desk(outbox) as served, served.connect() as connection:
        connection.sendall(head("POST", "/api/emails", "Content-Type: application/json", f"Content-Length: {LARGE}"))
        connection.sendall(LISTS[:100])

        assert answered(connection) == 401


@pytest.mark.parametrize("path", ["/api/emails", "/api/admin/outbox/retry", "/admin/email-queue/act"])
def test_a_large_body_from_nobody_takes_no_memory(outbox: Outbox, path: str) -> None:
    with desk(outbox) as served:
        post(served, b"{}")  # what is loaded at the first request of its kind
        with Peak(served) as peak:
            status = post(served, LISTS, path=path)

    assert status in (303, 401)
    assert peak.grown < 20 * MEGABYTE


def test_what_nobody_sends_to_the_sign_in_is_bounded(outbox: Outbox) -> None:
    with desk(outbox) as served:
        form = "Content-Type: application/x-www-form-urlencoded"
        with served.connect() as connection:
            connection.sendall(head("POST", "/admin/sign-in", form, "Transfer-Encoding: chunked"))
            piece = b"name=" + b"a" * AT_THE_DOOR
            connection.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))

            assert answered(connection) == 413
        with served.connect() as connection:
            connection.sendall(head("POST", "/admin/sign-in", form, f"Content-Length: {AT_THE_DOOR + 1}"))

            assert answered(connection) == 413


def test_millions_of_values_from_somebody_take_no_memory(outbox: Outbox) -> None:
    """They took 14 GB and minutes, in which nobody else was served."""
    operator = f"Authorization: Bearer {token_for(outbox, Role.OPERATOR)}"
    with desk(outbox) as served:
        post(served, b"{}", operator)
        with Peak(served) as peak:
            status = post(served, LISTS, operator)

    assert status == 413
    assert peak.grown < 250 * MEGABYTE


def test_others_are_served_while_a_large_email_is_composed(outbox: Outbox) -> None:
    """Making text of 12 MB of HTML takes seconds of Python; the probe is asked for while it goes on."""
    operator = f"Authorization: Bearer {token_for(outbox, Role.OPERATOR)}"
    body = json.dumps({"to": "a@example.org", "subject": "x", "html": "<p>a b c d " * 1_100_000}).encode()
    with desk(outbox) as served, served.connect() as connection:
        length = f"Content-Length: {len(body)}"
        connection.sendall(head("POST", "/api/emails", "Content-Type: application/json", length, operator) + body)
        others = answered_meanwhile(served, [connection])

        # One may be served before the work begins, and one when it is over.
        assert others > 2
        assert answered(connection) == 201


def test_a_large_attachment_is_taken_and_takes_a_few_times_its_length(outbox: Outbox) -> None:
    operator = f"Authorization: Bearer {token_for(outbox, Role.OPERATOR)}"
    content = base64.b64encode(b"x" * 17 * MEGABYTE).decode()
    email = {"to": "a@example.org", "text": "x", "attachments": [{"filename": "a.bin", "content": content}]}
    with desk(outbox) as served:
        post(served, b"{}", operator)
        with Peak(served) as peak:
            status = post(served, json.dumps(email).encode(), operator)

    assert status == 201
    assert peak.grown < 300 * MEGABYTE


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (b"7", 1),
        (b"[1,2,3]", 4),
        (b'{"a": "b, c: [d] {e}", "f": []}', 6),
        (b'["a \\" , b", "\\\\", 3]', 4),
        (b'["a \\\\\\" , b", 3]', 3),
        (b'"never ends, [[[[', 1),
        (b"[[[[[", 6),
    ],
)
def test_values_are_counted_outside_of_strings(text: bytes, values: int) -> None:
    assert values_in(text, most=100) == values


def test_counting_stops_where_it_is_too_much() -> None:
    assert values_in(b'["",' * 1000, most=10) < 20


def test_a_body_has_a_pace_to_keep() -> None:
    assert due(100.0, 0) == 100.0 + GRACE
    assert due(100.0, 5 * SLOWEST) == 105.0 + GRACE


def test_there_is_room_for_so_much_at_once() -> None:
    room = Room(10)

    assert room.take(6)
    assert not room.take(5)
    room.give_back(6)
    assert room.take(10)

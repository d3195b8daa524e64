"""The SMTP side: our scripted mail server, keeping what it hears on a shelf instead of in a test's record."""

from __future__ import annotations

import sqlite3

from postroom.inbox.chaos import Chaos
from postroom.inbox.shelf import Shelf
from postroom.testing.dialogue import Behaviour
from postroom.testing.record import NotKept, ReceivedMessage, Record

MAX_CONNECTIONS = 200


class ShelfRecord(Record):
    """Keeps messages only: a server that runs for days must not remember every command."""

    def __init__(self, shelf: Shelf) -> None:
        super().__init__()
        self._shelf = shelf

    def received(self, message: ReceivedMessage) -> None:
        """On the shelf before the client hears of it; what was refused is not kept."""
        if not message.accepted:
            return
        try:
            self._shelf.keep(message)
        except sqlite3.Error as error:
            raise NotKept(f"the inbox could not keep the message: {error}") from error

    def heard(self, command: str) -> None:
        """Not kept."""

    def violated(self, what: str) -> None:
        """Not kept."""


def behaviour(shelf: Shelf, chaos: Chaos) -> Behaviour:
    """A server that takes everything from everybody, with any password or none, until chaos is switched on."""
    limit = shelf.room.message_octets
    return Behaviour(
        name="postroom-inbox",
        extensions=("PIPELINING", f"SIZE {limit}", "8BITMIME", "SMTPUTF8", "ENHANCEDSTATUSCODES"),
        users={},
        mechanisms=("PLAIN", "LOGIN", "XOAUTH2"),
        any_password=True,
        tls=None,
        implicit_tls=False,
        esmtp=True,
        script=chaos.script(),
        record=ShelfRecord(shelf),
        max_bytes=limit,
        max_connections=MAX_CONNECTIONS,
    )

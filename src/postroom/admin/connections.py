"""One connection of a browser or a program, and how long it may take its time.

uvicorn waits for ever for a request that was begun, and for a reader that does not read; and when it has as many
connections as it may have, it refuses whoever comes next, although those that are there may be doing nothing. So a few
hundred connections that each send half a request stop it for as long as somebody likes. Here

- the head of a request must be there within `HEAD` seconds (a body has a pace to keep, see `bodies`);
- who does not read an answer for `STALLED` seconds is left;
- when all places are taken, whoever comes next is given the place of the one that has kept us waiting for longest.
  Only those that are being answered, and what somebody who is signed in is sending, stay.

A body that nobody wants (of a request that was refused) is read and thrown away for a moment, so that the answer
arrives: closing at once would make the other side's machine throw the answer away.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable
from enum import Enum, auto
from typing import Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from postroom.admin.visit import somebody_sends

HEAD = 10.0
"""Seconds from the opening of a connection, or the answer before, until the next request's head is complete."""

LINGER = 5.0
"""Seconds for which a body that nobody wants is thrown away."""

STALLED = 30.0
"""Seconds without anything of an answer being taken."""

_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_FULL = b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 5\r\ncontent-length: 0\r\n\r\n"


class Stage(Enum):
    """What a connection is about."""

    HEAD = auto()
    """The next request is not there yet."""
    BODY = auto()
    """Somebody unknown sends the body of a request."""
    UNWANTED = auto()
    """It was answered, and sends on all the same."""
    AT_WORK = auto()
    """It is being answered, or somebody who is signed in sends a body: its place is its own."""


class Connection(H11Protocol):
    """uvicorn's, with an eye on the time."""

    def connection_made(self, transport: Any) -> None:
        full = len(self.connections) >= self._places and not _give_away_one(self.connections)
        super().connection_made(transport)
        _send_small_answers_at_once(transport)
        self.transport = _Lingering(transport, self)  # type: ignore[assignment]
        self._stage = Stage.HEAD
        self._since = self._taken = self.loop.time()
        self._left = 0
        if full:
            transport.write(_FULL)
            transport.close()

    @property
    def _places(self) -> int:
        return getattr(self.config, "places", 1_000)

    @property
    def stage(self) -> Stage:
        cycle = cast("RequestResponseCycle | None", self.cycle)
        if cycle is None or (cycle.response_complete and self.conn.their_state is not h11.SEND_BODY):
            return Stage.HEAD
        if cycle.response_complete:
            return Stage.UNWANTED
        return Stage.BODY if cycle.more_body and not somebody_sends(cycle.scope) else Stage.AT_WORK

    @property
    def since(self) -> float:
        """When it came to its stage."""
        if self.stage is not self._stage:
            self._stage, self._since = self.stage, self.loop.time()
        return self._since

    def data_received(self, data: bytes) -> None:
        if not self.transport.is_closing():
            super().data_received(data)
        self.since  # noqa: B018 -- notes a new stage

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._since = self.loop.time()

    def look(self, now: float) -> None:
        """Whether it still may take its time; asked about once a second."""
        if self._stalls(now):
            self.leave()
        elif self.stage is Stage.HEAD and now - self.since > HEAD:
            self.transport.write(_TOO_SLOW)
            self.transport.close()
        elif self.stage is Stage.UNWANTED and now - self.since > LINGER:
            self.leave()

    def leave(self) -> None:
        """Without another word."""
        self.connections.discard(self)
        self.transport.abort()

    def _stalls(self, now: float) -> bool:
        left = self.transport.get_write_buffer_size()
        if not left or left < self._left:
            self._taken = now
        self._left = left
        return now - self._taken > STALLED


class _Lingering:
    """A transport that is closed for us at once, and for the other side when it has had its say."""

    def __init__(self, transport: asyncio.Transport, connection: Connection) -> None:
        self._transport = transport
        self._connection = connection
        self._closed = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        return self._closed or self._transport.is_closing()

    def close(self) -> None:
        if self._connection.stage is Stage.UNWANTED and self._transport.can_write_eof() and not self.is_closing():
            self._closed = True
            self._transport.write_eof()
            self._transport.resume_reading()
        elif not self._closed:
            self._transport.close()


def _give_away_one(connections: Iterable[Any]) -> bool:
    """Whether a place could be given away: that of the one that has kept us waiting for longest."""
    waiting = [each for each in connections if each.stage is not Stage.AT_WORK]
    if not waiting:
        return False
    min(waiting, key=lambda each: each.since).leave()
    return True


def _send_small_answers_at_once(transport: asyncio.Transport) -> None:
    """An answer leaves as a head and a body: the body would wait until the other side acknowledged the head, which it
    does 40 ms later. asyncio sees to that only for sockets whose protocol number was given.
    """
    accepted = transport.get_extra_info("socket")
    if accepted is not None and accepted.family in (socket.AF_INET, socket.AF_INET6):
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

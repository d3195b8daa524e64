"""One proxied connection: two ends, and what travels between them."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import deque
from typing import Protocol

_RESET = struct.pack("ii", 1, 0)


class Network(Protocol):
    """What a link asks of the proxy it belongs to."""

    target: tuple[str, int]
    round_trip: float
    stalled: bool

    def admit(self, link: Link) -> tuple[int | None, int | None]: ...

    def dismiss(self, link: Link) -> None: ...


class End(asyncio.Protocol):
    """One side of a link. Bytes that arrive here leave at the other end, in order, after half a round trip."""

    def __init__(self, link: Link) -> None:
        self.transport: asyncio.Transport | None = None
        self.other: End | None = None
        """Where bytes that arrive here leave."""
        self.left: int | None = None
        """How many more bytes from this side may pass before the link is cut."""
        self._link = link
        self._under_way: deque[bytes] = deque()
        self._loop = asyncio.get_running_loop()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._link.end_made(self)

    def data_received(self, data: bytes) -> None:
        delay = self._link.network.round_trip / 2
        self._under_way.append(data)
        if delay:
            self._loop.call_later(delay, self._arrive)
        else:
            self._arrive()

    def connection_lost(self, exc: Exception | None) -> None:
        # What is still under way arrives before the end does.
        self._loop.call_later(self._link.network.round_trip / 2, self._link.close)

    def _arrive(self) -> None:
        other = self.other.transport if self.other is not None else None
        if other is None or other.is_closing():
            return
        # Whichever timer comes first delivers what was sent first.
        data = self._under_way.popleft()
        if self.left is not None:
            data = data[: self.left]
            self.left -= len(data)
        other.write(data)
        if self.left == 0:
            self._link.cut()


class Link:
    """A client's connection and the one made to the target for it."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.client = End(self)
        self._server = End(self)
        self.client.other, self._server.other = self._server, self.client
        self._connecting: asyncio.Task[None] | None = None
        self._connected = False

    def end_made(self, end: End) -> None:
        assert end.transport is not None
        if end is self.client:
            self.client.left, self._server.left = self.network.admit(self)
            end.transport.pause_reading()
            self._connecting = asyncio.get_running_loop().create_task(self._connect())
        elif self.network.stalled:
            end.transport.pause_reading()

    def cut(self) -> None:
        """Reset both sides at once."""
        if self._connecting is not None:
            self._connecting.cancel()
        for end in (self.client, self._server):
            if end.transport is not None and not end.transport.is_closing():
                raw: socket.socket = end.transport.get_extra_info("socket")
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                end.transport.abort()
        self.network.dismiss(self)

    def close(self) -> None:
        """One side has left: the other is closed too, after what was written to it."""
        for end in (self.client, self._server):
            if end.transport is not None:
                end.transport.close()
        self.network.dismiss(self)

    def set_stalled(self, stalled: bool) -> None:
        if not self._connected:
            return
        for end in (self.client, self._server):
            if end.transport is None or end.transport.is_closing():
                continue
            if stalled:
                end.transport.pause_reading()
            else:
                end.transport.resume_reading()

    async def _connect(self) -> None:
        host, port = self.network.target
        try:
            await asyncio.get_running_loop().create_connection(lambda: self._server, host, port)
        except OSError:
            self.cut()
            return
        self._connected = True
        self.set_stalled(self.network.stalled)

"""The scripted server's end of a connection: read, write, change to TLS, cut."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import Callable

_RESET = struct.pack("ii", 1, 0)
_FULL = 1 << 18


class Channel(asyncio.Protocol):
    """A byte stream for one reader. Reading stops at 256 KiB, so that a server that stalls is felt by the client."""

    def __init__(self, on_connect: Callable[[Channel], None]) -> None:
        self.buffer = bytearray()
        """What has come and was not taken yet."""
        self._on_connect = on_connect
        self._arrived = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self.over = asyncio.Event()
        """Nothing more will come."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = self._socket = transport
        self._on_connect(self)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        if len(self.buffer) > _FULL:
            self._transport.pause_reading()
        self._arrived.set()

    def eof_received(self) -> bool:
        self._end()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._end()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    async def read(self) -> None:
        """Wait until there is more in the buffer than before; `EOFError` when nothing more can come."""
        if self.over.is_set():
            raise EOFError
        self._arrived.clear()
        self._transport.resume_reading()
        await self._arrived.wait()
        if self.over.is_set() and not self.buffer:
            raise EOFError

    async def line(self, limit: int | None = None) -> bytes:
        """The next line with its end; `OverflowError` when it does not end within the limit."""
        while (end := self.buffer.find(b"\n") + 1) == 0:
            if limit is not None and len(self.buffer) > limit:
                raise OverflowError
            await self.read()
        line = bytes(self.buffer[:end])
        del self.buffer[:end]
        return line

    async def write(self, data: bytes) -> None:
        """Send; `EOFError` when there is nobody to send to. Others get their turn, however much is written."""
        if self.over.is_set() or self._transport.is_closing():
            raise EOFError
        self._transport.write(data)
        await self._writable.wait()
        await asyncio.sleep(0)

    async def start_tls(self, context: ssl.SSLContext) -> None:
        """Become the server's side of TLS."""
        transport = await asyncio.get_running_loop().start_tls(
            self._transport, self, context, server_side=True, ssl_handshake_timeout=30, ssl_shutdown_timeout=1
        )
        if transport is None:
            raise EOFError
        self._transport = transport

    def close(self) -> None:
        """Close in order."""
        self._transport.close()

    def reset(self) -> None:
        """Close with a TCP reset."""
        raw: socket.socket | None = self._socket.get_extra_info("socket")
        if raw is not None and raw.fileno() >= 0:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.abort()

    def abort(self) -> None:
        """Close at once."""
        self._transport.abort()

    def _end(self) -> None:
        self.over.set()
        self._arrived.set()
        self._writable.set()

"""A server's end of a connection, moved by hand byte by byte, and our end with as little room as the kernel allows."""

from __future__ import annotations

import asyncio
import select
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from postroom.send.smtp.capabilities import Capabilities
from postroom.send.smtp.connection import Connection
from postroom.send.smtp.server import Limits
from postroom.send.smtp.wire import Wire

PATIENCE = 20.0
ROOMY = 4_000_000
_RESET = struct.pack("ii", 1, 0)


class OurSocket(socket.socket):
    """Counts how often it was given something to send."""

    sends = 0

    def send(self, *arguments: object) -> int:  # type: ignore[override]
        self.sends += 1
        return super().send(*arguments)  # type: ignore[arg-type]


class FarEnd:
    """Says and reads only what the test tells it to. Our end may have gone by then: that is no error."""

    def __init__(self, ours: OurSocket, theirs: socket.socket) -> None:
        self.ours = ours
        self.received = b""
        self._socket = theirs

    async def say(self, words: bytes) -> None:
        with suppress(OSError):
            await asyncio.get_running_loop().sock_sendall(self._socket, words)

    async def read_until(self, end: bytes) -> None:
        """Read until that was read."""
        while end not in self.received:
            assert await self.read(), f"the end came before {end!r}"

    async def read(self, most: int = 65536) -> bool:
        """Read what there is, at most so much; False at the end."""
        async with asyncio.timeout(PATIENCE):
            try:
                data = await asyncio.get_running_loop().sock_recv(self._socket, most)
            except ConnectionResetError:
                return False
        self.received += data
        return bool(data)

    async def read_to_the_end(self) -> None:
        while await self.read():
            pass

    async def welcome(self) -> None:
        """Answer MAIL, one RCPT and DATA."""
        await self.read_until(b"DATA\r\n")
        self.received = b""
        await self.say(b"250 2.1.0 Ok\r\n250 2.1.5 Ok\r\n354 go ahead\r\n")

    def hang_up(self) -> None:
        """Say nothing more; what still comes can be read."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def reset(self) -> None:
        """Reset the connection, and return when our kernel knows."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self._socket.close()
        looking = select.poll()
        if self.ours.fileno() >= 0:
            looking.register(self.ours, 0)
            assert looking.poll(1000 * PATIENCE)

    def nothing_to_read(self) -> bool:
        """Whether no byte has come that was not read yet."""
        return not select.select([self._socket], [], [], 0)[0]

    def close(self) -> None:
        self._socket.close()

    @property
    def closed(self) -> bool:
        return self._socket.fileno() < 0


@asynccontextmanager
async def connected(*, room: int = ROOMY, limits: Limits | None = None) -> AsyncIterator[tuple[Connection, FarEnd]]:
    """A greeted connection whose kernel buffers hold about `room` bytes, and its far end."""
    loop = asyncio.get_running_loop()
    with socket.socket() as door, OurSocket() as ours:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, room)
        door.bind(("127.0.0.1", 0))
        door.listen()
        ours.connect(door.getsockname())
        theirs, _ = door.accept()
        theirs.setblocking(False)
        far_end = FarEnd(ours, theirs)
        try:
            _, wire = await loop.create_connection(lambda: Wire(loop), sock=ours)
            await far_end.say(b"220 hello\r\n")
            await wire.reply()
            connection = Connection(wire, Capabilities(pipelining=True), limits=limits or Limits(), idle=30.0)
            ours.sends = 0
            yield connection, far_end
            connection.close()
            await connection.closed()
        finally:
            far_end.close()

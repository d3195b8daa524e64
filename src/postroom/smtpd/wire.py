"""A client's end of a connection, as far as a mail server needs it: lines and messages, each with a bound.

Only CR LF ends a line of a message, and only a dot alone between two of them ends the message. What a client writes
with bare carriage returns or line feeds is a part of the message and never a command.
"""

from __future__ import annotations

import asyncio
from asyncio import StreamReader, StreamWriter

LONGEST_LINE = 4_096
"""Octets of a command; RFC 5321 asks for 512 and some, extensions for more."""
LISTENING = 60.0
"""Seconds for a client to take an answer in: one that never does must not keep a place for ever."""
_CHUNK = 65_536
_LINE_END, _END = b"\r\n", b"\r\n.\r\n"


class Wire:
    """Reads what one client says, and answers."""

    def __init__(self, reader: StreamReader, writer: StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._buffer = bytearray()

    async def line(self) -> bytes:
        """The next command without its end; `OverflowError` when it has none in time, `EOFError` at the end."""
        while (end := self._buffer.find(b"\n")) < 0:
            if len(self._buffer) > LONGEST_LINE:
                raise OverflowError
            self._buffer += await self._more()
        if end > LONGEST_LINE:
            raise OverflowError
        return self._take(end + 1).rstrip(_LINE_END)

    async def message(self, *, kept: int, largest: int) -> tuple[bytes, int] | None:
        """The message up to its dot, dots no longer doubled, and its size. Of a long one only the beginning is kept;
        None for one beyond the largest, which is heard to its end all the same, so that the client hears why.
        """
        found = bytearray(_LINE_END) + self._take(len(self._buffer))
        beginning, gone, start = b"", 0, 0
        while (end := found.find(_END, start)) < 0:
            if beginning or len(found) > kept + len(_END):
                beginning = beginning or bytes(found)
                gone += len(found) - len(_END)
                del found[: -len(_END)]
            start = max(0, len(found) - len(_END))
            found += await self._more()
        self._buffer += found[end + len(_END) :]
        size = gone + end
        if size > largest:
            return None
        whole = beginning or bytes(found[: end + len(_LINE_END)])
        return whole.replace(b"\r\n.", _LINE_END)[len(_LINE_END) :][:kept], size

    async def say(self, *lines: str) -> None:
        """Answer; others get their turn however slowly the client listens. `TimeoutError` when it does not listen."""
        self._writer.write("".join(f"{line}\r\n" for line in lines).encode("ascii", "replace"))
        async with asyncio.timeout(LISTENING):
            await self._writer.drain()

    def _take(self, count: int) -> bytes:
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken

    async def _more(self) -> bytes:
        chunk = await self._reader.read(_CHUNK)
        if not chunk:
            raise EOFError
        return chunk

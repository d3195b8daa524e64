"""The stamping sink: `python -m bench.stamping` prints its port, then a line for each email addressed to `stampN@…`.

A line reads `accepted N time`; every thousand other emails there is one that reads `accepted - -`.
"""

from __future__ import annotations

import asyncio
import re
import sys
import time

_STAMPED = re.compile(rb"^RCPT TO:<stamp(\d+)@", re.IGNORECASE | re.MULTILINE)
_REPLIES = {b"EHLO": b"250-sink\r\n250-PIPELINING\r\n250 8BITMIME\r\n", b"DATA": b"354 go\r\n", b"QUIT": b"221 bye\r\n"}


class Session(asyncio.Protocol):
    """One connection."""

    accepted = 0
    told = 0

    def __init__(self) -> None:
        self._buffer = b""
        self._in_message = False
        self._number: int | None = None
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(b"220 sink\r\n")

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        self._buffer += data
        replies: list[bytes] = []
        while self._advance(replies):
            pass
        if replies:
            self._transport.write(b"".join(replies))

    def _advance(self, replies: list[bytes]) -> bool:
        """Take one command or one message from what was received; False when it is not all there."""
        if self._in_message:
            _message, dot, rest = self._buffer.partition(b"\r\n.\r\n")
            if dot:
                self._buffer, self._in_message = rest, False
                self._accept()
                replies.append(b"250 2.0.0 Ok\r\n")
            return bool(dot)
        line, ending, rest = self._buffer.partition(b"\r\n")
        if not ending:
            return False
        self._buffer = rest
        if found := _STAMPED.match(line):
            self._number = int(found[1])
        verb = line[:4].upper()
        self._in_message = verb == b"DATA"
        replies.append(_REPLIES.get(verb, b"250 2.1.0 Ok\r\n"))
        return True

    def _accept(self) -> None:
        Session.accepted += 1
        if self._number is not None:
            print(Session.accepted, self._number, time.monotonic(), flush=True)
            self._number = None
        elif Session.accepted >= Session.told + 1000 or not Session.told:
            Session.told = Session.accepted
            print(Session.accepted, "-", "-", flush=True)


async def main() -> None:
    server = await asyncio.get_running_loop().create_server(Session, "127.0.0.1", 0, backlog=100)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())

"""Bytes, replies and time limits kept in step on one TCP connection.

The wire counts the replies that the server owes us. One more than that, or anything that is not SMTP, ends it: from
then on nobody could say which reply belongs to which command. Replies that were complete and owed before the end can
still be taken.

A time limit is a total: it starts again with every complete reply, never with a mere byte. Where many replies are owed
at once, all of them together have a limit as well: a server that drips gains nothing by making each of them last.

A message may be written together with its dot. As a rule the kernel takes both at once; where it takes only part, the
wire knows whether the dot is still in our hands: no reply can be to that dot, and a wire that ends has not sent it.
"""

from __future__ import annotations

import asyncio
import ssl
from math import inf

from postroom.send.contract import FaultKind
from postroom.send.smtp.deadline import Deadline
from postroom.send.smtp.replies import Lines, ReplyReader, code_of, printable

_LOST = "the connection was lost"
_CLOSED = "the server closed the connection"


class Ended(Exception):
    """The conversation ended, and no reply tells why."""

    def __init__(self, kind: FaultKind, text: str) -> None:
        super().__init__(text)
        self.kind = kind
        self.text = text


class Wire(asyncio.Protocol):
    """One connection to a server. Made by `loop.create_connection`; not for use by two tasks at once."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.ended: Ended | None = None
        self.unsolicited: Lines | None = None
        """The reply to nothing that ended the wire: a server may refuse a message while it is still being uploaded."""
        self.secure = False
        self.kept_dot = False
        """The wire ended while the dot of a message that had been written was still in our hands."""
        self._loop = loop
        self._reader = ReplyReader()
        self._owed = 1  # the greeting
        self._wanted = 1
        self._waiter: asyncio.Future[None] | None = None
        self._draining: asyncio.Future[None] | None = None
        self._lost: asyncio.Future[None] = loop.create_future()
        self._paused = False
        self._ending = 0  # bytes from the dot on, while the kernel has not taken all of a message
        self._ending_limit = 0.0
        self._deadline = Deadline(loop, self._expire)

    # What asyncio tells us

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = self._socket = transport
        # With no room for buffering, «drained» means that the kernel has every byte.
        transport.set_write_buffer_limits(high=0)

    def data_received(self, data: bytes) -> None:
        if self.ended is not None:
            return
        reader = self._reader
        if self._ending and self._keeps_dot():
            self._owed = 0
        before = len(reader.ready)
        reader.feed(data)
        if len(reader.ready) > self._owed:
            self._refuse_unsolicited()
        elif reader.problem is not None:
            self.end(FaultKind.PROTOCOL, reader.problem)
        elif len(reader.ready) > before:
            if code_of(reader.ready[-1]) == 421:
                self.end(FaultKind.CUT, "the server closed the session")
                return
            self._deadline.renew()
            if self._waiter is not None and len(reader.ready) >= self._wanted:
                _wake(self._waiter)

    def eof_received(self) -> None:
        # Left to itself, asyncio would go on to give the kernel what it has not taken yet.
        self.end(FaultKind.CUT, _CLOSED)

    def connection_lost(self, exc: Exception | None) -> None:
        _wake(self._lost)
        self.end(FaultKind.CUT, f"the connection was lost: {exc}" if exc else _CLOSED)

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        if self._ending:
            self._ending = 0
            self.allow(self._ending_limit)
        if self._draining is not None:
            _wake(self._draining)

    # What the conversation asks of us

    def be_brief(self) -> None:
        """Keep no more of a reply than people are shown, from now on: many may be owed at once."""
        self._reader.brief = True

    @property
    def clean(self) -> bool:
        """Alive, with no reply owed and nothing said that was not asked for."""
        return self.ended is None and self._owed == 0 and self._reader.empty

    def write(self, data: bytes, *, replies: int = 0, limit: float = 0.0, most: float = inf) -> None:
        """Hand bytes to the socket, to which the server owes this many replies, each within `limit` seconds, and all
        of them within `most`."""
        self.check()
        if replies:
            self._owed += replies
            self._deadline.set(limit, most=most)
        self._transport.write(data)

    def write_message(self, message: bytes, ending: bytes, *, replies: int, limit: float, block: float) -> None:
        """Hand a message, its dot and what is behind the dot to the socket in one write, right after a `check`.

        Returns when the kernel has all of it, or part. Raises `Ended` when it has taken nothing, so that the dot has
        not left. Where it has taken part, the rest follows by itself, within `block` seconds; should the wire end
        before that, `kept_dot` says whether the dot is known not to have left.
        """
        self._owed += replies
        self._deadline.set(limit)
        self._transport.write(message + ending)
        if self._transport.is_closing():
            raise self.end(FaultKind.CUT, _LOST)
        if self._paused:
            self._ending, self._ending_limit = len(ending), limit
            self._deadline.set(block)

    def check(self) -> None:
        """Raise `Ended` if nothing can be written now: the wire has ended, or is found to be at its end."""
        if self.ended is not None:
            raise self.ended
        if self._owed == 0 and not self._reader.empty:
            raise self.end(FaultKind.PROTOCOL, "the server spoke out of turn")
        if self._transport.is_closing():
            # The last write failed; asyncio will say so in its next turn, which would be too late for a dot.
            raise self.end(FaultKind.CUT, _LOST)

    def reply_at_hand(self) -> Lines | None:
        """The next reply, if it is there already, without an await; replies come in flocks."""
        if not self._reader.ready:
            return None
        self._owed -= 1
        return self._reader.ready.popleft()

    async def reply(self, *, wanted: int = 1, limit: float | None = None) -> Lines:
        """The next reply, within the limit given with its command or within `limit` from now.

        `wanted` is how many will be taken soon, so that one awakening serves them all.
        """
        ready = self._reader.ready
        if not ready:
            if self.ended is not None:
                raise self.ended
            if limit is not None:
                self._deadline.set(limit)
            self._wanted = wanted
            self._waiter = self._loop.create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
            if not ready:
                raise self.end(FaultKind.CUT, _LOST)
        self._owed -= 1
        return ready.popleft()

    def allow(self, limit: float, *, most: float = inf) -> None:
        """Give whatever comes next this many seconds from now, and all that is owed `most`. Where nothing is owed, the
        connection is then closed."""
        if self.ended is None:
            self._deadline.set(limit, most=most)

    @property
    def is_drained(self) -> bool:
        """The kernel has every byte written so far."""
        return not self._paused and not self._in_socket() and self.ended is None

    async def drained(self, limit: float) -> None:
        """Wait until the kernel has every byte written so far; raises `Ended` when that takes longer than `limit`."""
        if self.is_drained:
            return
        self._deadline.set(limit)
        while self.ended is None and (self._paused or self._in_socket()):
            self._draining = self._loop.create_future()
            # Under TLS nobody tells us when the last ciphertext has left; only then do we look by ourselves.
            look = None if self._paused else self._loop.call_later(0.01, _wake, self._draining)
            try:
                await self._draining
            finally:
                self._draining = None
                if look is not None:
                    look.cancel()
        if self.ended is not None:
            raise self.ended

    async def start_tls(self, context: ssl.SSLContext, host: str, limit: float) -> None:
        """Change to TLS. Nothing that was said before counts afterwards: what was sent too early ends the wire."""
        if not self._reader.empty or self.ended is not None:
            raise self.end(FaultKind.TLS, "the server spoke in the clear where TLS was to begin")
        self._deadline.lift()
        try:
            transport = await self._loop.start_tls(
                self._socket, self, context, server_hostname=host, ssl_handshake_timeout=limit, ssl_shutdown_timeout=2.0
            )
        except ssl.SSLError as error:
            raise self.end(FaultKind.TLS, _tls_problem(error)) from error
        except TimeoutError as error:
            raise self.end(FaultKind.TIMEOUT, "the TLS handshake did not finish in time") from error
        except OSError as error:
            # asyncio reports a handshake that ran out of time as a ConnectionAbortedError.
            kind = FaultKind.TIMEOUT if "longer than" in str(error) else FaultKind.CUT
            raise self.end(kind, f"the TLS handshake was not finished: {str(error) or 'connection lost'}") from error
        if transport is None:
            raise self.end(FaultKind.CUT, "the connection was lost during the TLS handshake")
        self._transport = transport
        # Here 0 would mean «always full».
        transport.set_write_buffer_limits(high=1, low=0)
        self.secure = True

    def end(self, kind: FaultKind, text: str) -> Ended:
        """End the conversation at once, if it has not ended; returns why it ended in the first place."""
        if self.ended is None:
            self.ended = Ended(kind, text)
            self.kept_dot = self._keeps_dot()
            self._deadline.lift()
            self._transport.abort()
            for waiter in (self._waiter, self._draining):
                if waiter is not None:
                    _wake(waiter)
        return self.ended

    def farewell(self) -> None:
        """Say QUIT and close without waiting for the answer, provided the server is not expecting something else."""
        if self.ended is not None:
            return
        if not self.clean:
            self.end(FaultKind.CUT, "closed by us")
            return
        self._transport.write(b"QUIT\r\n")
        self.ended = Ended(FaultKind.CUT, "closed by us")
        self._deadline.lift()
        self._transport.close()

    async def closed(self, limit: float) -> None:
        """Wait until an ended connection is closed; after `limit` seconds it is torn down."""
        await asyncio.wait([self._lost], timeout=limit)
        self._transport.abort()

    def local_address(self) -> str:
        """The address of our end of the connection."""
        name = self._socket.get_extra_info("sockname")
        return str(name[0]) if isinstance(name, tuple) else "127.0.0.1"

    # Our own

    def _in_socket(self) -> bool:
        """Whether bytes wait below TLS for the kernel to take them."""
        return self._socket is not self._transport and self._socket.get_write_buffer_size() > 0

    def _keeps_dot(self) -> bool:
        """Whether the dot is certain to be in our hands. A lost connection has none of its bytes left to tell."""
        return 0 < self._ending <= self._transport.get_write_buffer_size()

    def _refuse_unsolicited(self) -> None:
        ready = self._reader.ready
        self.unsolicited = ready[self._owed]
        while len(ready) > self._owed:
            ready.pop()
        said = printable(self.unsolicited[-1][:100])
        kind = FaultKind.CUT if code_of(self.unsolicited) == 421 else FaultKind.PROTOCOL
        self.end(kind, f"the server said something that was not asked for: {said}")

    def _expire(self) -> None:
        if self.clean and self._draining is None and self._waiter is None:
            self.farewell()
        else:
            self.end(FaultKind.TIMEOUT, f"nothing complete within {self._deadline.limit:g} s")


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


def _tls_problem(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the server's certificate was not accepted: {error.verify_message}"
    return f"the TLS handshake failed: {error.reason or error}"

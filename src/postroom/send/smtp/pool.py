"""Connections kept for reuse. `SmtpTransport` is the way out that the rest of Postroom sees."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from weakref import WeakSet

from postroom.fork import tell_after_fork
from postroom.send.contract import BeforeDot, Envelope, Report
from postroom.send.smtp.connection import Connection
from postroom.send.smtp.opening import Opening, open_session, trust
from postroom.send.smtp.server import Server
from postroom.send.smtp.sign_in import SignIns


class Line:
    """The use of one connection at a time, opened when needed and replaced when it has gone.

    A worker keeps a line and delivers one email after another through it. A connection that the server closed while
    it was idle is found out before MAIL is answered; it is replaced once, silently, because nothing was sent on it. So
    is one on which the server and we are out of step.

    Whoever takes up a line uses it in one event loop until it is given back.
    """

    def __init__(self, transport: SmtpTransport) -> None:
        self._transport = transport
        self._connection: Connection | None = None

    async def deliver(
        self, envelope: Envelope, /, *, before_dot: BeforeDot | None = None, following: Envelope | None = None
    ) -> Report:
        """Attempt one envelope; for `following` and cancellation see `Connection.deliver`."""
        connection = self._connection
        if connection is None or not connection.ready_for(envelope):
            connection = self._reusable(envelope)
        if connection is not None:
            report = await connection.deliver(
                envelope, before_dot=before_dot, following=self._admitted(connection, following)
            )
            if not connection.unheard and not connection.out_of_step:
                self._retire(connection)
                return report
        report = await self._deliver_anew(envelope, before_dot, following)
        if self._connection is not None and self._connection.out_of_step:
            report = await self._deliver_anew(envelope, before_dot, following)
        return report

    async def _deliver_anew(
        self, envelope: Envelope, before_dot: BeforeDot | None, following: Envelope | None
    ) -> Report:
        """Attempt an envelope on a new connection."""
        self._connection = None
        opening = await self._transport.open()
        if opening.wire is None or opening.refusal is not None or opening.fault is not None:
            return _unopened(opening, len(envelope.recipients))
        connection = self._connection = self._transport.connected(opening)
        report = await connection.deliver(
            envelope, before_dot=before_dot, following=self._admitted(connection, following)
        )
        self._retire(connection)
        return replace(report, milliseconds={**opening.milliseconds, **report.milliseconds})

    def take_up(self) -> None:
        """Somebody is to use the line in the running event loop: a connection of another one is of no use there.

        Looked at here and not for every email, because Python 3.11 asks the system for it.
        """
        if self._connection is not None and not self._connection.belongs_here():
            self._connection = None

    def forget(self) -> None:
        """Let go of the connection without a word on it: it is somebody else's."""
        self._connection = None

    def settle_down(self) -> None:
        """Nobody uses the line for now: an envelope that was opened ahead will not come, so its connection goes."""
        if self._connection is not None and (self._connection.has_opened_any or not self._connection.usable):
            self.close()

    def close(self) -> Connection | None:
        """Close the connection, if there is one, and give it back to be waited for."""
        connection, self._connection = self._connection, None
        if connection is not None and connection.belongs_here():
            connection.close()
            return connection
        return None

    def _reusable(self, envelope: Envelope) -> Connection | None:
        connection = self._connection
        if connection is None:
            return None
        if not connection.usable and connection.has_opened(envelope):
            return connection  # it may still hold replies, and will say how it ended
        self.close()
        return None

    def _admitted(self, connection: Connection, following: Envelope | None) -> Envelope | None:
        """The following envelope, unless the connection will have done its share by then."""
        share = self._transport.server.emails_per_connection
        return following if connection.delivered + 1 < share else None

    def _retire(self, connection: Connection) -> None:
        if connection.delivered >= self._transport.server.emails_per_connection and not connection.has_opened_any:
            self.close()


class SmtpTransport:
    """A `Transport` over one SMTP server, with up to `connections` persistent connections.

    Belongs to one event loop at a time. A worker takes its lines with `async with transport.connection() as line`;
    whoever has a single email calls `send`. In a forked process it has connections of its own.
    """

    def __init__(self, server: Server | str) -> None:
        self.server = Server.parse(server) if isinstance(server, str) else server
        self.name = self.server.name
        self._context = trust(self.server)
        self._wants_less = False
        """The server says that it can do something, and refuses it: see `Connection`."""
        self._lines: WeakSet[Line] = WeakSet()
        self.forget_parent()
        tell_after_fork(self)

    def forget_parent(self) -> None:
        """Begin anew, as in a process that has just been forked: what is connected is the parent's."""
        for line in list(self._lines):
            line.forget()
        self._resting: list[Line] = []
        self._turns = asyncio.Semaphore(self.server.connections)
        self._sign_ins = SignIns()

    @property
    def connections(self) -> int:
        """How many lines there are."""
        return self.server.connections

    @property
    def rate(self) -> str | None:
        """Emails per period over all workers."""
        return self.server.rate

    async def send(self, envelope: Envelope, *, before_dot: BeforeDot | None = None) -> Report:
        """Attempt one envelope on whichever connection is free, or on a new one."""
        async with self.connection() as line:
            return await line.deliver(envelope, before_dot=before_dot)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Line]:
        """A line for as long as it is wanted; waits while all of them are taken."""
        async with self._turns:
            # The most recently used first, so that those not needed grow idle and close.
            line = self._resting.pop() if self._resting else self._new_line()
            line.take_up()
            try:
                yield line
            finally:
                line.settle_down()
                self._resting.append(line)

    def _new_line(self) -> Line:
        line = Line(self)
        self._lines.add(line)
        return line

    async def probe(self) -> Report:
        """Connect, greet, secure and authenticate, then leave: is the server well and are we welcome?

        Without a fault and without a refusal (`reply.code` below 400) the server can be sent to.
        """
        opening = await self.open()
        if opening.wire is not None and opening.fault is None and opening.refusal is None:
            connection = self.connected(opening)
            connection.close()
            await connection.closed()
        return _unopened(opening, 0)

    async def close(self) -> None:
        """Take leave of the server on every resting connection. A later `send` opens a new one."""
        closing = [connection for line in self._resting if (connection := line.close()) is not None]
        self._resting.clear()
        await asyncio.gather(*(connection.closed() for connection in closing))

    async def open(self) -> Opening:
        """A new connection, or why there is none."""
        return await open_session(self.server, self._context, self._sign_ins)

    def connected(self, opening: Opening) -> Connection:
        """What a successful opening led to."""
        assert opening.wire is not None
        capabilities = replace(opening.capabilities, dsn=opening.capabilities.dsn and self.server.dsn)
        return Connection(
            opening.wire,
            capabilities.sparing() if self._wants_less else capabilities,
            limits=self.server.limits,
            idle=self.server.idle,
            wants_less=self._ask_less,
        )

    def _ask_less(self) -> None:
        """Remember for every later connection that the server refused what it had offered."""
        self._wants_less = True


def _unopened(opening: Opening, recipients: int) -> Report:
    """The report of an attempt that was about the connection only."""
    return Report(
        recipients=(None,) * recipients,
        reply=opening.refusal or (opening.last if opening.fault is None else None),
        fault=opening.fault,
        milliseconds=opening.milliseconds,
        capabilities_known=opening.greeted,
    )

"""A connection to the broker: set up, used for a while, lost, and set up again.

Everything that the client raises stops here. A broker that cannot be reached is `BrokerAway`, with a reason in words;
a message that was not confirmed is a `Fate`, because the email it names stays where it was.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime

from postroom.broker.amqp.address import address, broker_name
from postroom.broker.amqp.client import PRECONDITION_FAILED, AmqpError, Client, NotSignedIn, Refused, connect
from postroom.broker.amqp.wire import Posting
from postroom.broker.meter import UNMETERED_DISPATCH, DispatchMeter, Fate
from postroom.broker.topology import Broker, declare, depths
from postroom.claim.feed import call_off
from postroom.logs import logger

REACH = 10.0
"""Seconds to wait for a connection, and for its queues to be declared."""
GOODBYE = 2.0
"""Seconds to wait for a broker that is left to say goodbye."""
FIRST_PAUSE, LAST_PAUSE = 0.5, 5.0

FAILURES = (AmqpError, OSError, TimeoutError)
"""What is raised when a broker, a channel or a connection is not as it should be."""


class BrokerAway(Exception):
    """The broker cannot be used just now; the text says why, without a password."""


class Session:
    """One connection with one channel, from set-up to loss."""

    def __init__(self, broker: Broker, client: Client) -> None:
        self.broker = broker
        self.client = client
        self.closed = asyncio.Event()
        self.reason = ""
        self._confirm_limit = broker.confirm_limit.total_seconds()
        client.lost = self.lost

    def lost(self, error: Exception) -> None:
        """Called when the connection or its channel is gone."""
        self.reason = self.reason or in_words(error)
        self.closed.set()

    async def publish(self, postings: Sequence[Posting]) -> list[Fate]:
        """Publish messages, each to be kept on disk and confirmed; what became of each."""
        return await self.client.publish(postings, patience=self._confirm_limit)

    async def depths(self) -> dict[str, int]:
        """How many messages wait in each queue. Raises `BrokerAway` also when a queue is gone."""
        try:
            async with asyncio.timeout(REACH):
                return await depths(self.client, self.broker)
        except FAILURES as error:
            self.lost(error)
            raise BrokerAway(self.reason) from None

    async def close(self) -> None:
        """Say goodbye; what was not acknowledged goes back to its queue."""
        await _leave(self.client)
        self.closed.set()


async def open_session(broker: Broker) -> Session:
    """Connect and declare the topology, or raise `BrokerAway`."""
    client: Client | None = None
    try:
        async with asyncio.timeout(REACH):
            client = await connect(address(broker.url))
            session = Session(broker, client)
            await client.open_channel()
            await declare(client, broker)
            return session
    except (*FAILURES, ValueError) as error:
        await _leave(client)
        raise BrokerAway(in_words(error)) from None
    except asyncio.CancelledError:
        await _leave(client)
        raise


async def _leave(client: Client | None) -> None:
    if client is not None:
        with suppress(TimeoutError):
            async with asyncio.timeout(GOODBYE):
                await client.close()


class Link:
    """The broker as one process sees it: there or away, since when, and why."""

    def __init__(self, broker: Broker, stopping: asyncio.Event, meter: DispatchMeter = UNMETERED_DISPATCH) -> None:
        self.broker = broker
        self.session: Session | None = None
        self.reason = ""
        """Why it is away; empty while it is there, and before anybody knows."""
        self.since = datetime.now(UTC)
        self._stopping = stopping
        self._meter = meter
        self._farewells: set[asyncio.Task[None]] = set()

    @property
    def connected(self) -> bool:
        return self.session is not None and not self.session.closed.is_set()

    async def connect(self) -> Session | None:
        """A session, tried for again and again, a little later each time; None when we are to stop."""
        pause = FIRST_PAUSE
        self._note_loss()
        while not self._stopping.is_set():
            try:
                session = await self._open()
            except BrokerAway as error:
                self.reason = str(error)
                logger.warning("the broker is away", broker=self.name, reason=self.reason, again_in_seconds=pause)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._stopping.wait(), pause)
                pause = min(pause * 2, LAST_PAUSE)
            else:
                if session is None:
                    return None
                self.session = session
                self.since, self.reason = datetime.now(UTC), ""
                self._meter.connected(True)
                logger.info("the broker is there", broker=self.name)
                return session
        return None

    async def _open(self) -> Session | None:
        """A session; None when we are to stop before the broker has answered."""
        opening = asyncio.create_task(open_session(self.broker))
        stopping = asyncio.create_task(self._stopping.wait())
        await asyncio.wait([opening, stopping], return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if opening.done():
            return opening.result()
        await call_off([opening])
        return None

    def _note_loss(self) -> None:
        """Tell of a session that is over, and leave it: its connection may outlive its channel."""
        if self.session is not None:
            self.since, self.reason = datetime.now(UTC), self.session.reason
            logger.warning("the broker is lost", broker=self.name, reason=self.reason)
            farewell = asyncio.create_task(self.session.close())
            self._farewells.add(farewell)
            farewell.add_done_callback(self._farewells.discard)
        self._meter.connected(False)

    async def close(self) -> None:
        if self.session is not None:
            await self.session.close()
        await asyncio.gather(*self._farewells)

    @property
    def name(self) -> str:
        """The broker without its password."""
        return broker_name(self.broker.url)


def in_words(error: Exception) -> str:
    """What went wrong, in one line without anybody's password."""
    match error:
        case TimeoutError():
            return "no answer in time"
        case NotSignedIn():
            return "the broker refuses our user or password"
        case Refused(code=code) if code == PRECONDITION_FAILED:
            return f"{error}; a queue of that name exists with other arguments: delete it, or name another"
        case OSError(errno=errno.ECONNREFUSED):
            return "connection refused"
        case OSError(strerror=str(said)) if said:
            return said
        case _:
            return str(error).splitlines()[0][:200] if str(error) else type(error).__name__

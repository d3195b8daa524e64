"""A connection to the broker: set up, used for a while, lost, and set up again.

Everything that aio-pika raises stops here. A broker that cannot be reached is `BrokerAway`, with a reason in words; a
message that was not confirmed is a `Fate`, because the email it names stays where it was.
"""

from __future__ import annotations

import asyncio
import errno
import ssl
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import urlsplit

import aio_pika
import aiormq
from aio_pika.exceptions import CONNECTION_EXCEPTIONS, DeliveryError, PublishError

from postroom.claim.feed import call_off
from postroom.dispatch.meter import UNMETERED_DISPATCH, DispatchMeter, Fate
from postroom.dispatch.topology import Broker, declare, depths
from postroom.logs import logger

REACH = 10.0
"""Seconds to wait for a connection, and for its queues to be declared."""
GOODBYE = 2.0
"""Seconds to wait for a broker that is left to say goodbye."""
HEARTBEAT = 10
"""Seconds between signs of life, so that a broker that vanished is missed soon."""
FIRST_PAUSE, LAST_PAUSE = 0.5, 5.0

FAILURES = (*CONNECTION_EXCEPTIONS, TimeoutError, asyncio.InvalidStateError)
"""What aio-pika raises when a broker, a channel or a connection is not as it should be."""


class BrokerAway(Exception):
    """The broker cannot be used just now; the text says why, without a password."""


class QueueGone(Exception):
    """Somebody deleted a queue that we consumed from."""

    def __str__(self) -> str:
        return "a queue was deleted"


@dataclass(frozen=True, slots=True)
class Letter:
    """A message to be published."""

    queue: str
    key: str
    body: bytes


class Session:
    """One connection with one channel, from set-up to loss."""

    def __init__(self, broker: Broker, connection: aio_pika.abc.AbstractConnection, channel: aiormq.Channel) -> None:
        self.broker = broker
        self.channel = channel
        self.closed = asyncio.Event()
        self.reason = ""
        self._connection = connection
        self._confirm_limit = broker.confirm_limit.total_seconds()

    def lost(self, error: BaseException | None) -> None:
        """Called when the connection or its channel is gone."""
        self.reason = self.reason or in_words(error)
        self.closed.set()

    async def publish(self, letters: Sequence[Letter]) -> list[Fate]:
        """Publish messages, each to be kept on disk and confirmed; what became of each."""
        return list(await asyncio.gather(*[self._publish(letter) for letter in letters]))

    async def _publish(self, letter: Letter) -> Fate:
        try:
            await self.channel.basic_publish(
                letter.body,
                routing_key=letter.queue,
                properties=aiormq.spec.Basic.Properties(
                    delivery_mode=2, content_type="application/json", message_id=letter.key
                ),
                mandatory=True,
                wait=False,  # for the confirmation, not for the socket: many may be under way
                timeout=self._confirm_limit,
            )
        except PublishError:
            return Fate.RETURNED
        except DeliveryError:
            return Fate.REFUSED
        except FAILURES as error:
            if self.channel.is_closed:
                self.lost(error)
            return Fate.UNCONFIRMED
        return Fate.CONFIRMED

    async def depths(self) -> dict[str, int]:
        """How many messages wait in each queue. Raises `BrokerAway` also when a queue is gone."""
        try:
            async with asyncio.timeout(REACH):
                return await depths(self.channel, self.broker)
        except FAILURES as error:
            self.lost(error)
            raise BrokerAway(self.reason) from None

    async def close(self) -> None:
        """Say goodbye; what was not acknowledged goes back to its queue."""
        await _leave(self._connection)
        self.closed.set()


async def open_session(broker: Broker) -> Session:
    """Connect and declare the topology, or raise `BrokerAway`."""
    connection: aio_pika.abc.AbstractConnection | None = None
    try:
        async with asyncio.timeout(REACH):
            connection = await aio_pika.connect(_with_heartbeat(broker.url))
            channel = connection.channel(publisher_confirms=True, on_return_raises=True)
            await channel.initialize()
            underlay = await channel.get_underlay_channel()
            assert isinstance(underlay, aiormq.Channel)
            session = Session(broker, connection, underlay)
            connection.close_callbacks.add(lambda _, error: session.lost(error))
            channel.close_callbacks.add(lambda _, error: session.lost(error))
            # A queue that is deleted takes its consumers along, and nothing else tells: channel and connection stay.
            # Set up anew, the session declares the queue and consumes from it again.
            underlay.on_consumer_cancel_callbacks.add(lambda _: session.lost(QueueGone()))
            await declare(underlay, broker)
            return session
    except (*FAILURES, ssl.SSLError, ValueError) as error:
        await _leave(connection)
        raise BrokerAway(in_words(error)) from None
    except asyncio.CancelledError:
        await _leave(connection)
        raise


async def _leave(connection: aio_pika.abc.AbstractConnection | None) -> None:
    if connection is not None:
        with suppress(*FAILURES):
            async with asyncio.timeout(GOODBYE):
                await connection.close()


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


def broker_name(url: str) -> str:
    """Where the broker is; no user, no password."""
    parts = urlsplit(url)
    return f"{parts.hostname or 'localhost'}:{parts.port or (5671 if parts.scheme == 'amqps' else 5672)}{parts.path}"


def _with_heartbeat(url: str) -> str:
    """As the URL has it, or ours."""
    if "heartbeat=" in url:
        return url
    return f"{url}{'&' if urlsplit(url).query else '?'}heartbeat={HEARTBEAT}"


def in_words(error: BaseException | None) -> str:
    """What a library said, in one line without anybody's password."""
    match error:
        case None:
            return "the connection was closed"
        case TimeoutError():
            return "no answer in time"
        case aio_pika.exceptions.ProbableAuthenticationError() | aio_pika.exceptions.AuthenticationError():
            return "the broker refuses our user or password"
        case aio_pika.exceptions.ChannelPreconditionFailed():
            return f"{error}; a queue of that name exists with other arguments: delete it, or name another"
        case OSError(errno=errno.ECONNREFUSED):  # aiormq makes another error of it, with the same number
            return "connection refused"
        case OSError(strerror=str(said)) if said:
            return said
        case _:
            return str(error).splitlines()[0][:200] if str(error) else type(error).__name__

"""A connection to a broker, with one channel on it.

Messages are published and acknowledged many at a time, each group in one write. What goes wrong is an `AmqpError`, or
an `OSError` of the socket's; whoever made the client is told once when it, or its channel, is of no more use.
"""

from __future__ import annotations

import asyncio
import os
import platform
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.metadata import version

from pamqp import commands
from pamqp.base import Frame
from pamqp.common import FieldTable

from postroom.broker.amqp import wire
from postroom.broker.amqp.address import Address
from postroom.broker.amqp.confirmations import Batch, Confirmations
from postroom.broker.amqp.wire import Confirmed, Delivered, Garbled, Posting, Reader, Returned, Said
from postroom.broker.meter import Fate
from postroom.logs import logger

NO_REASON = "the broker closed the connection"
ACCESS_REFUSED, NOT_FOUND, PRECONDITION_FAILED = 403, 404, 406

Consumer = Callable[[int, bytes, bool], None]
"""Is given a message's tag, its body, and whether it may have been delivered before. Called in the event loop, so it
must neither wait nor raise."""


class AmqpError(Exception):
    """The broker cannot be used as we wanted to."""


class Refused(AmqpError):
    """The broker closed the channel, or the connection, and said why."""

    def __init__(self, code: int | None, text: str) -> None:
        super().__init__(text or f"reply code {code}")
        self.code = code


class NotSignedIn(Refused):
    """The broker knows no such user, or another password."""


class QueueGone(AmqpError):
    """Somebody deleted a queue that we consumed from."""

    def __str__(self) -> str:
        return "a queue was deleted"


class Client(asyncio.Protocol):
    """One connection. Made by `connect`."""

    def __init__(self, address: Address) -> None:
        self.lost: Callable[[Exception], None] | None = None
        """Called when the connection, or its channel, is of no more use."""
        self.blocked = ""
        """Why the broker takes no messages for now, if it does not: short of memory, or of disk."""
        self.room = asyncio.Event()
        """Set while messages may be published: the broker takes them, and the socket too."""
        self.room.set()
        self._address = address
        self._error: Exception | None = None
        """Why the connection is of no more use, once it is not; and the same for the channel."""
        self._channel_error: Exception | None = None
        self._loop = asyncio.get_running_loop()
        self._reader = Reader()
        self._turn = asyncio.Lock()
        self._answer: asyncio.Future[Frame] | None = None
        self._consumers: dict[bytes, Consumer] = {}
        self._consumed = 0
        self._confirmations = Confirmations()
        self._paused = False
        self._heard = self._loop.time()
        self._silent = True
        self._beat: asyncio.TimerHandle | None = None
        self._signed_in = False

    # ---------------------------------------------------------------- asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._heard = self._loop.time()
        try:
            events = self._reader.feed(data)
        except Garbled as error:
            self._lose(AmqpError(f"the broker cannot be understood: {error}"))
            return
        for event in events:
            match event:
                case Delivered(consumer, tag, body, redelivered):
                    if (deliver := self._consumers.get(consumer)) is not None:
                        deliver(tag, body, redelivered)
                case Confirmed():
                    self._confirmations.confirm(event)
                case Returned(key):
                    self._confirmations.note_return(key)
                case Said(channel, method):
                    self._hear(channel, method)

    def pause_writing(self) -> None:
        self._paused = True
        self.room.clear()

    def resume_writing(self) -> None:
        self._paused = False
        self._make_room()

    def connection_lost(self, error: Exception | None) -> None:
        self._lose(error or AmqpError(NO_REASON))

    # ---------------------------------------------------------------- calls

    async def sign_in(self) -> None:
        """The first words of a connection, up to the point from which channels may be opened."""
        here = self._address
        start = await self._ask(b"AMQP\x00\x00\x09\x01")
        if not isinstance(start, commands.Connection.Start):
            raise AmqpError(f"the broker began with {start.name}")
        answer = commands.Connection.StartOk(
            client_properties=_about_us(),
            mechanism="EXTERNAL" if here.by_certificate else "PLAIN",
            response="" if here.by_certificate else f"\0{here.user}\0{here.password}",
        )
        tune = await self.call(answer, channel=0)
        if not isinstance(tune, commands.Connection.Tune):
            raise AmqpError(f"the broker answered Connection.StartOk with {tune.name}")
        self._reader.largest = tune.frame_max or wire.LARGEST_FRAME
        agreed = commands.Connection.TuneOk(tune.channel_max, self._reader.largest, here.heartbeat)
        self._write(wire.say(agreed, 0))
        await self.call(commands.Connection.Open(here.virtual_host), channel=0)
        self._signed_in = True
        if here.heartbeat:
            self._beat = self._loop.call_later(here.heartbeat / 2, self._keep_alive)

    async def open_channel(self) -> None:
        """Needed once; and again after the broker refused something, for that closes the channel."""
        self._channel_error = None
        self._confirmations = Confirmations()
        await self.call(commands.Channel.Open())
        await self.call(commands.Confirm.Select())

    async def close_channel(self) -> None:
        await self.call(commands.Channel.Close(reply_code=200, reply_text="", class_id=0, method_id=0))

    async def call(self, method: Frame, *, channel: int = wire.CHANNEL) -> Frame:
        """Say something that the broker answers. A call that is called off, or answered wrongly, ends the connection:
        who knows what for the next answer would be."""
        answer = await self._ask(wire.say(method, channel))
        if method.valid_responses and answer.name not in method.valid_responses:
            error = AmqpError(f"the broker answered {method.name} with {answer.name}")
            self._lose(error)
            raise error
        return answer

    async def _ask(self, words: bytes) -> Frame:
        async with self._turn:
            if (error := self._error or self._channel_error) is not None:
                raise error.with_traceback(None)
            self._answer = self._loop.create_future()
            self._write(words)
            try:
                return await self._answer
            except asyncio.CancelledError:
                self._lose(AmqpError("the broker did not answer in time"))
                raise
            finally:
                self._answer = None

    async def close(self) -> None:
        """Say goodbye and hang up. Nobody is told that the connection is lost."""
        self.lost = None
        self._channel_error = None
        goodbye = commands.Connection.Close(reply_code=200, reply_text="", class_id=0, method_id=0)
        try:
            with suppress(AmqpError, OSError):
                await self.call(goodbye, channel=0)
        finally:
            self.hang_up()

    def hang_up(self) -> None:
        """Leave without a word."""
        self.lost = None
        self._lose(AmqpError("we hung up"))

    # ---------------------------------------------------------------- messages

    async def publish(self, postings: Sequence[Posting], *, patience: float) -> list[Fate]:
        """Publish messages, each to be kept on disk; what became of each by the end of our patience."""
        batch = Batch(postings)
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await self.room.wait()
                if postings and self._error is None and self._channel_error is None:
                    self._send(batch)
                    await batch.over
        return [fate or Fate.UNCONFIRMED for fate in batch.fates]

    def _send(self, batch: Batch) -> None:
        # Written before it is counted: a posting that cannot be written must not shift the numbers of the next ones.
        words = b"".join([wire.publish(posting, largest=self._reader.largest) for posting in batch.postings])
        self._confirmations.expect(batch)
        self._write(words)

    async def consume(self, queue: str, consumer: Consumer) -> str:
        """Have a queue's messages delivered; the name to cancel that by."""
        self._consumed += 1
        name = f"postroom-{self._consumed}"
        self._consumers[name.encode()] = consumer
        await self.call(commands.Basic.Consume(queue=queue, consumer_tag=name))
        return name

    async def cancel(self, name: str) -> None:
        """Have no more delivered; what was on its way comes before this returns."""
        await self.call(commands.Basic.Cancel(consumer_tag=name))
        self._consumers.pop(name.encode(), None)

    def acknowledge(self, tag: int, *, all_before: bool = False) -> None:
        self._write(wire.acknowledge(tag, all_before=all_before))

    def reject(self, tag: int) -> None:
        """Have a message put aside."""
        self._write(wire.say(commands.Basic.Reject(delivery_tag=tag, requeue=False)))

    # ---------------------------------------------------------------- what the broker says by itself, and answers

    def _hear(self, channel: int, method: Frame) -> None:
        match method:
            case commands.Connection.Close():
                self._write(wire.say(commands.Connection.CloseOk(), 0))
                known = self._signed_in or method.reply_code != ACCESS_REFUSED
                self._lose((Refused if known else NotSignedIn)(method.reply_code, method.reply_text))
            case commands.Channel.Close():
                self._write(wire.say(commands.Channel.CloseOk(), channel))
                self._close_channel(Refused(method.reply_code, method.reply_text))
            case commands.Basic.Cancel():
                # A queue that is deleted takes its consumers along, and nothing else tells: the channel stays.
                self._close_channel(QueueGone())
            case commands.Connection.Blocked():
                logger.warning("the broker takes no messages for now", reason=method.reason)
                self.blocked = method.reason or "no reason given"
                self.room.clear()
            case commands.Connection.Unblocked():
                logger.info("the broker takes messages again")
                self.blocked = ""
                self._make_room()
            case _ if self._answer is not None and not self._answer.done():
                self._answer.set_result(method)

    def _close_channel(self, error: Exception) -> None:
        """Whoever waits for an answer gets none. A connection that goes after its channel is not told of again."""
        if self._channel_error is not None:
            return
        self._channel_error = error
        self._consumers.clear()
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)
        self._confirmations.end()
        if self.lost is not None:
            self.lost(error)

    def _lose(self, error: Exception) -> None:
        """The connection is of no more use."""
        if self._error is not None:
            return
        self._error = error
        if self._beat is not None:
            self._beat.cancel()
        self.room.set()
        self._transport.abort()
        self._close_channel(error)

    def _keep_alive(self) -> None:
        """Say something if we have not lately, and miss a broker that says nothing."""
        interval = self._address.heartbeat
        quiet = self._loop.time() - self._heard
        if quiet > 2 * interval:
            self._lose(AmqpError(f"no sign of life from the broker for {quiet:.0f} s"))
            return
        if self._silent:
            self._write(wire.HEARTBEAT)
        self._silent = True
        self._beat = self._loop.call_later(interval / 2, self._keep_alive)

    def _make_room(self) -> None:
        if not self._paused and not self.blocked:
            self.room.set()

    def _write(self, words: bytes) -> None:
        self._silent = False
        self._transport.write(words)


async def connect(address: Address) -> Client:
    """A connection that has signed in, without a channel yet."""
    loop = asyncio.get_running_loop()
    server_name = address.host if address.tls else None
    try:
        _, client = await loop.create_connection(
            lambda: Client(address), address.host, address.port, ssl=address.tls, server_hostname=server_name
        )
    except OSError as error:
        raise _plain(error) from error
    try:
        await client.sign_in()
    except BaseException:
        client.hang_up()
        raise
    return client


def _plain(error: OSError) -> OSError:
    """Where all of a name's addresses fail alike, asyncio makes one error of them, without a number."""
    numbers = set(re.findall(r"\[Errno (\d+)\]", str(error)))
    if error.errno is not None or len(numbers) != 1:
        return error
    number = int(numbers.pop())
    return OSError(number, os.strerror(number))


def _about_us() -> FieldTable:
    return {
        "product": "Postroom",
        "version": version("postroom"),
        "platform": f"Python {platform.python_version()}",
        "connection_name": f"postroom on {platform.node()}",
        "capabilities": {
            "authentication_failure_close": True,
            "basic.nack": True,
            "connection.blocked": True,
            "consumer_cancel_notify": True,
            "publisher_confirms": True,
        },
    }

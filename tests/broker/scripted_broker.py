"""A broker that answers as it is told to, and remembers what it was told: for what no real one does on demand."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Self

from pamqp import commands
from pamqp.body import ContentBody
from pamqp.exceptions import UnmarshalingException
from pamqp.frame import marshal, unmarshal
from pamqp.header import ContentHeader
from pamqp.heartbeat import Heartbeat

from postroom.broker.amqp.address import address
from postroom.broker.amqp.client import Client, connect

Word = Any
"""A frame of pamqp's, or bytes; or `HANG_UP`."""
HANG_UP = object()

ANSWERS: dict[str, tuple[Word, ...]] = {
    "ProtocolHeader": (commands.Connection.Start(),),
    "Connection.StartOk": (commands.Connection.Tune(2047, 131_072, 60),),
    "Connection.Open": (commands.Connection.OpenOk(),),
    "Connection.Close": (commands.Connection.CloseOk(),),
    "Channel.Open": (commands.Channel.OpenOk(),),
    "Channel.Close": (commands.Channel.CloseOk(),),
    "Confirm.Select": (commands.Confirm.SelectOk(),),
    "Exchange.Declare": (commands.Exchange.DeclareOk(),),
    "Queue.Bind": (commands.Queue.BindOk(),),
    "Queue.Declare": (commands.Queue.DeclareOk("queue", 3, 1),),
    "Basic.Consume": (commands.Basic.ConsumeOk("postroom-1"),),
}


class ScriptedBroker:
    """Listens on loopback, in the test's own event loop, for one client after another; a context manager.

    It confirms nothing by itself, unless `confirming`, and refuses what is meant for one of the `refused` queues.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.heard: list[str] = []
        """The names of all frames, in order."""
        self.confirming = False
        self.refused: set[str] = set()
        self.connections = 0
        self.gone = asyncio.Event()
        """The client has hung up."""
        self._tls = tls
        self._answers = dict(ANSWERS)
        self._news = asyncio.Event()
        self._conversation: _Conversation | None = None

    @property
    def url(self) -> str:
        scheme, port = "amqps" if self._tls else "amqp", self._server.sockets[0].getsockname()[1]
        return f"{scheme}://postroom:secret@127.0.0.1:{port}/"

    def when(self, name: str, *words: Word) -> None:
        """Answer a method with these words from now on; with silence if there are none."""
        self._answers[name] = words

    def say(self, *words: Word) -> None:
        """Say something unasked, all of it in one write."""
        assert self._conversation is not None
        self._conversation.say(*words)

    async def hears(self, name: str, times: int = 1) -> None:
        """Wait until so many frames of this name have come, since the beginning."""
        while self.heard.count(name) < times:
            self._news.clear()
            await self._news.wait()

    def stop_reading(self) -> None:
        self._transport().pause_reading()

    def read_again(self) -> None:
        self._transport().resume_reading()

    def _transport(self) -> asyncio.Transport:
        assert self._conversation is not None
        return self._conversation.transport

    def begin(self, conversation: _Conversation) -> None:
        self.connections += 1
        self._conversation = conversation
        self.gone.clear()

    def hear(self, frame: Word) -> tuple[Word, ...]:
        """What to answer."""
        self.heard.append(frame.name)
        self._news.set()
        if frame.name == "Basic.Publish" and (self.confirming or self.refused):
            word = commands.Basic.Nack if frame.routing_key in self.refused else commands.Basic.Ack
            return (word(self.heard.count("Basic.Publish")),)
        return self._answers.get(frame.name, ())

    async def __aenter__(self) -> Self:
        self._server = await asyncio.get_running_loop().create_server(
            partial(_Conversation, self), "127.0.0.1", 0, ssl=self._tls
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        if self._conversation is not None:
            self._transport().abort()
            await self.gone.wait()


class _Conversation(asyncio.Protocol):
    def __init__(self, broker: ScriptedBroker) -> None:
        self._broker = broker
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._broker.begin(self)

    def connection_lost(self, error: Exception | None) -> None:
        self._broker.gone.set()

    def data_received(self, data: bytes) -> None:
        self._rest += data
        while len(self._rest) >= 8:
            try:
                size, _, frame = unmarshal(self._rest)
            except UnmarshalingException:  # the rest is on its way
                return
            self._rest = self._rest[size:]
            self.say(*self._broker.hear(frame))

    def say(self, *words: Word) -> None:
        self.transport.write(b"".join(_octets(word) for word in words if word is not HANG_UP))
        if HANG_UP in words:
            self.transport.close()


def _octets(word: Word) -> bytes:
    if isinstance(word, bytes):
        return word
    return marshal(word, 0 if word.name.startswith("Connection.") else 1)


def returned(key: str, body: bytes = b"Good morning.") -> tuple[Word, ...]:
    """A message that no queue takes."""
    properties = commands.Basic.Properties(message_id=key)
    header = ContentHeader(body_size=len(body), properties=properties)
    return commands.Basic.Return(312, "NO_ROUTE", "", "queue"), header, Heartbeat(), ContentBody(body)


@asynccontextmanager
async def opened(url: str, losses: list[Exception] | None = None) -> AsyncIterator[Client]:
    """A client with a channel; hangs up in the end."""
    client = await connect(address(url))
    client.lost = (losses if losses is not None else []).append
    try:
        await client.open_channel()
        yield client
    finally:
        client.hang_up()

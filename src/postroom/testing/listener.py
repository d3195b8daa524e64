"""The door of a mail server: takes connections, has a conversation on each, and shuts when told to."""

from __future__ import annotations

import asyncio

from postroom.testing.channel import Channel
from postroom.testing.dialogue import Behaviour, Dialogue
from postroom.testing.door import shut


class Listener:
    """Lives in the event loop that opened it. Opened again after `close`, it is back on the same port."""

    def __init__(self, behaviour: Behaviour, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self.port = port
        """Where it listens; with 0, a free one is chosen when it first opens."""
        self._host = host
        self._behaviour = behaviour
        self._dialogues: dict[Dialogue, asyncio.Task[None]] = {}
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        """Listen; nothing happens when it does already."""
        if self._server is None:
            loop = asyncio.get_running_loop()
            self._server = await loop.create_server(lambda: Channel(self._welcome), self._host, self.port, backlog=1000)
            self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Refuse connections from now on, and reset those that exist."""
        server, self._server = self._server, None
        if server is not None:
            await shut(server)
        self.abort_all()

    def abort_all(self) -> None:
        """Reset every open connection."""
        for dialogue in list(self._dialogues):
            dialogue.abort()

    def _welcome(self, channel: Channel) -> None:
        number = self._behaviour.record.connected()
        if len(self._dialogues) >= self._behaviour.max_connections:
            channel.abort()
            return
        dialogue = Dialogue(self._behaviour, number, channel)
        self._dialogues[dialogue] = asyncio.get_running_loop().create_task(self._converse(dialogue))

    async def _converse(self, dialogue: Dialogue) -> None:
        try:
            await dialogue.run()
        finally:
            self._dialogues.pop(dialogue, None)
            dialogue.abort()

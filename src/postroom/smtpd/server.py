"""The door of a mail server: takes connections, and has a conversation on each."""

from __future__ import annotations

import asyncio
from asyncio import StreamReader, StreamWriter
from dataclasses import dataclass
from pathlib import Path

from postroom.errors import ConfigurationError
from postroom.smtpd.conversation import Conversation, Reception
from postroom.smtpd.wire import Wire

MOST_CONNECTIONS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a server listens: a port of this machine, or a socket in the file system."""

    host: str = "127.0.0.1"
    port: int = 0
    path: Path | None = None

    @classmethod
    def parse(cls, text: str) -> Place:
        """`HOST:PORT`, a port alone, or `unix:PATH`; without a host only this machine is listened to."""
        if text.startswith("unix:"):
            return cls(path=Path(text.removeprefix("unix:")))
        host, _, port = text.rpartition(":")
        if not port.isdecimal() or int(port) > 65_535:
            raise ConfigurationError(f"{text!r} is no place to listen; write HOST:PORT, PORT or unix:/path/to/socket")
        return cls(host=host.strip("[]") or "127.0.0.1", port=int(port))

    def __str__(self) -> str:
        return (
            f"unix:{self.path}" if self.path else f"{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"
        )


class MailServer:
    """Lives in the event loop that opened it."""

    def __init__(self, reception: Reception, place: Place) -> None:
        self.place = place
        """Where it listens; a port of 0 is chosen when it opens."""
        self._reception = reception
        self._server: asyncio.Server | None = None
        self._conversations: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Listen; `ConfigurationError` where that is not possible."""
        place = self.place
        try:
            if place.path is not None:
                self._server = await asyncio.start_unix_server(self._welcome, place.path)
            else:
                self._server = await asyncio.start_server(self._welcome, place.host, place.port)
                self.place = Place(host=place.host, port=self._server.sockets[0].getsockname()[1])
        except OSError as error:
            raise ConfigurationError(f"cannot listen on {place}: {error.strerror or error}; choose another") from error

    async def close(self) -> None:
        """Take no more. Whoever is in the middle of a message is cut off, and has it still."""
        if self._server is not None:
            self._server.close()
        for conversation in list(self._conversations):
            conversation.cancel()
        await asyncio.gather(*self._conversations, return_exceptions=True)

    async def _welcome(self, reader: StreamReader, writer: StreamWriter) -> None:
        current = asyncio.current_task()
        assert current is not None
        if len(self._conversations) >= MOST_CONNECTIONS:
            writer.transport.abort()
            return
        self._conversations.add(current)
        try:
            await Conversation(self._reception, Wire(reader, writer)).run()
        except asyncio.CancelledError:
            pass  # the server closes
        finally:
            self._conversations.discard(current)
            writer.close()

"""Everything in one process: the admin app served from a thread, and guests who keep writing to a small hotel."""

from __future__ import annotations

import asyncio
import random
import socket
import threading
from typing import TYPE_CHECKING, Self

from postroom.accounts.accounts import add_person, find_person
from postroom.accounts.passwords import hash_password
from postroom.accounts.values import Role
from postroom.demo.story import Story
from postroom.outbox import AsyncOutbox
from postroom.web import admin

if TYPE_CHECKING:
    import uvicorn

    from postroom.config import Settings
    from postroom.outbox import Outbox

KEEPER = "keeper@hillhouse.example"
PASSWORD = "the kettle is on"  # noqa: S105  printed on the screen: the demo's only lock is that it stays on this machine


def let_in(outbox: Outbox) -> None:
    """A person for whoever watches, with a password that is told and a code that arrives in the dev inbox."""
    if outbox.database.run(find_person(KEEPER), writes=False) is None:
        outbox.database.run(add_person(KEEPER, role=Role.ADMIN, password=hash_password(PASSWORD)))


PLACES = 100
"""Connections to the desk at once."""


class DeskThread:
    """The admin app on a free port of this machine."""

    def __init__(self, settings: Settings, *, port: int = 0) -> None:
        self._settings = settings
        self._socket = socket.create_server(("127.0.0.1", port))
        self.port: int = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/admin"
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="postroom-desk", daemon=True)
        self._server: uvicorn.Server | None = None
        self._ready = threading.Event()

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *details: object) -> None:
        if self._server is not None:
            self._server.should_exit = True
        self._thread.join(10)
        self._socket.close()

    async def _serve(self) -> None:
        from postroom.admin.serving import Config, Server

        async with AsyncOutbox.from_settings(self._settings) as outbox:
            self._server = Server(Config(admin(outbox), places=PLACES))
            self._ready.set()
            await self._server.serve(sockets=[self._socket])


class Guests(threading.Thread):
    """Somebody books, or is welcomed, every few seconds, until the house closes."""

    def __init__(self, story: Story) -> None:
        super().__init__(name="postroom-guests", daemon=True)
        self._story = story
        self._closed = threading.Event()

    def run(self) -> None:
        names = ("Ada", "Grace", "Katherine", "Hedy", "Mary", "Dorothy", "Radia", "Barbara")
        while not self._closed.wait(random.uniform(1.0, 4.0)):
            if random.random() < 0.5:
                self._story.book(random.choice(names))
            else:
                self._story.welcome(random.choice(names))

    def leave(self) -> None:
        self._closed.set()
        self.join()

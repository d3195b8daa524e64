"""The dev inbox as a whole, in a thread of its own.

    with DevInbox() as inbox:
        outbox = Outbox("sqlite:///app.db", smtp=inbox.smtp_url)
        outbox.send(Email(to="ada@example.org", subject="Hi", text="…"))
        (message,) = inbox.wait_for(1)
        print(inbox.letter(message.id).text, inbox.url)

The mail server and the page share one event loop; what needs the database waits in threads beside it.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from postroom.errors import ConfigurationError
from postroom.inbox.chaos import PAUSE, Chaos, Trouble
from postroom.inbox.received import ReadMessage, read_message
from postroom.inbox.reception import behaviour
from postroom.inbox.shelf import KeptMessage, Room, Shelf, Wanted
from postroom.testing.background import BackgroundLoop
from postroom.testing.listener import Listener

if TYPE_CHECKING:
    import uvicorn

    from postroom.gallery.collection import Collection
    from postroom.templates.portal import Portal

_EVERY = 1_000_000

PLACES = 500
"""Connections to the page at once, those that wait for mail among them."""


class DevInbox:
    """A mail server and a page to read what it was sent; a context manager.

    It binds to 127.0.0.1 unless told otherwise, and never sends anything on. Whoever can reach it can read the mail.
    """

    def __init__(
        self,
        *,
        file: Path | None = None,
        smtp_port: int = 0,
        port: int = 0,
        host: str = "127.0.0.1",
        allowed_hosts: Sequence[str] = (),
        room: Room | None = None,
        pause: float = PAUSE,
        portals: Callable[[], Mapping[str, Portal]] = dict,
    ) -> None:
        """Ports of 0 are chosen freely. Without a file, mail is kept in memory. `allowed_hosts` are names under which
        the page may be asked for besides those of this machine; `pause` is how slow a slow server is, in seconds;
        `portals` finds the portals whose templates the page shows, when somebody looks.
        """
        self.host = host
        self.allowed_hosts = (_named(host), *allowed_hosts)
        self.chaos = Chaos(pause=pause)
        self.port = port
        self._portals = portals
        self._file = file
        self._room = room
        self._smtp_port = smtp_port
        self._background: BackgroundLoop | None = None

    @property
    def smtp_port(self) -> int:
        return self._listener.port if self._background is not None else self._smtp_port

    @property
    def smtp_url(self) -> str:
        """For `POSTROOM_SMTP`."""
        return f"smtp://{_named(self.host)}:{self.smtp_port}"

    @property
    def url(self) -> str:
        """Of the page."""
        return f"http://{_named(self.host)}:{self.port}"

    @property
    def changes(self) -> int:
        """Another number after every change of mail or chaos."""
        return self.shelf.changes + self.chaos.changes

    @cached_property
    def gallery(self) -> Collection:
        """The templates that the page shows; read anew when they change."""
        from postroom.gallery.collection import Collection  # nothing of it is needed to take mail

        return Collection(self._portals, live=True)

    # What was received

    def messages(self, words: str = "") -> list[KeptMessage]:
        """What was kept, in the order of arrival; with words, those that a search for them finds."""
        return self.shelf.list(Wanted(words=words, limit=_EVERY))[::-1]

    def letter(self, id: int) -> ReadMessage:
        """A message taken apart; `LookupError` when there is none of that id."""
        source = self.shelf.source(id)
        if source is None:
            raise LookupError(f"no message {id}: it was deleted, or it never came")
        return read_message(source)

    def wait_for(self, count: int, *, words: str = "", timeout: float = 30.0) -> list[KeptMessage]:
        """Block until so many messages are there, and return them; `TimeoutError` when they do not come."""
        wanted = Wanted(words=words)
        if not self.shelf.wait_until(lambda: self.shelf.count(wanted) >= count, timeout):
            raise TimeoutError(f"{self.shelf.count(wanted)} of {count} messages came within {timeout:g} s")
        return self.messages(words)

    def copies(self, message_id: str) -> int:
        """How often the message with this Message-ID was received."""
        return self.shelf.copies()[message_id]

    def copies_of_all(self) -> Counter[str]:
        """Message-ID to number of copies received."""
        return self.shelf.copies()

    # Chaos

    def switch_on(self, trouble: Trouble | str, *, times: int | None = None) -> None:
        """From now on, or for the next `times` messages: `inbox.switch_on("drop", times=1)`."""
        trouble = Trouble(trouble)
        self.chaos.switch_on(trouble, times=times)
        if trouble is Trouble.REFUSE:
            self._running().run(self._listener.close())

    def switch_off(self, trouble: Trouble | str) -> None:
        """Nothing happens when it is not on."""
        trouble = Trouble(trouble)
        if trouble is Trouble.REFUSE:
            self._running().run(self._listener.open())
        self.chaos.switch_off(trouble)

    def calm(self) -> None:
        """Switch every trouble off."""
        for trouble in Trouble:
            self.switch_off(trouble)

    # Its life

    def start(self) -> Self:
        """Listen on both ports. A port in use or a file that cannot be written is a `ConfigurationError`."""
        if self._background is not None:
            raise RuntimeError("the inbox is running already")
        self.shelf = Shelf(self._file, room=self._room)
        self._listener = Listener(behaviour(self.shelf, self.chaos), host=self.host, port=self._smtp_port)
        self._background = BackgroundLoop("dev-inbox")
        try:
            self._background.run(self._open())
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Close both ports and the file."""
        background, self._background = self._background, None
        if background is not None:
            self._smtp_port = self._listener.port
            background.run(self._close())
            background.stop()
            self.shelf.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def _running(self) -> BackgroundLoop:
        if self._background is None:
            raise RuntimeError("the inbox is not running; use it in a with statement, or call start()")
        return self._background

    # In the inbox's own thread

    async def _open(self) -> None:
        self._web: uvicorn.Server | None = None
        self._page = _bound(self.host, self.port)
        self.port = self._page.getsockname()[1]
        try:
            await self._listener.open()
        except OSError as error:
            raise ConfigurationError(_port_is_taken("--smtp-port", self._smtp_port, error)) from error
        self._web = self._web_server()
        self._serving = asyncio.create_task(self._web.serve(sockets=[self._page]))
        while not self._web.started and not self._serving.done():  # noqa: ASYNC110 -- uvicorn offers no event
            await asyncio.sleep(0.01)

    def _web_server(self) -> uvicorn.Server:
        try:
            import uvicorn  # noqa: F401  (asked for by name, for the others may be loaded already)

            from postroom.admin.serving import Config, Server
            from postroom.inbox.site import build
        except ImportError as error:
            raise ConfigurationError(f"the inbox needs {error.name}; pip install 'postroom[web]' brings it") from error

        return Server(Config(build(self), places=PLACES, log_config=None, timeout_graceful_shutdown=2))

    async def _close(self) -> None:
        await self._listener.close()
        if self._web is not None:
            self.shelf.stop_waiting()
            if gallery := self.__dict__.pop("gallery", None):
                gallery.close()
            self._web.should_exit = True
            with contextlib.suppress(asyncio.CancelledError):
                await self._serving
        if hasattr(self, "_page"):
            self._page.close()


def _bound(host: str, port: int) -> socket.socket:
    """A socket for the page; whether the port is free is known here, and not only in uvicorn's log."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise ConfigurationError(_port_is_taken("--port", port, error)) from error
    return bound


def _port_is_taken(option: str, port: int, error: OSError) -> str:
    return f"cannot listen on port {port}: {error.strerror or error}; choose another with {option}, or 0 for a free one"


def _named(host: str) -> str:
    return f"[{host}]" if ":" in host else host

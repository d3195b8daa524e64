"""Everything in one process: three inboxes, the workers of three regions, and the application."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from examples.portals.company import REGIONS, Company, settings_of
from examples.portals.postgres import databases_on, private_server
from examples.portals.site import build
from postroom.inbox import DevInbox


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """Where everything is."""

    site: str
    inboxes: Mapping[str, str]


@contextmanager
def running(folder: Path, *, port: int = 0, postgres: str | None = None) -> Iterator[Addresses]:
    """The application and all it needs, as long as the block lasts.

    `postgres` names a server; empty, one of our own is started; None means SQLite. A port of 0 is any that is free, for
    the inboxes too; else they are at the three ports behind it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    folder = folder.resolve()
    with ExitStack() as stack:
        databases = _databases(folder, postgres, stack)
        inboxes = {
            name: stack.enter_context(DevInbox(file=folder / f"inbox-{name}.db", port=port and port + place))
            for place, name in enumerate(REGIONS, 1)
        }
        listening = stack.enter_context(bound(port))
        at = Addresses(
            site=f"http://127.0.0.1:{listening.getsockname()[1]}",
            inboxes={name: f"{inbox.url}/" for name, inbox in inboxes.items()},
        )
        settings = settings_of(databases, {name: inbox.smtp_url for name, inbox in inboxes.items()}, folder)
        company = stack.enter_context(Company(settings, folder, site=at.site))
        stack.enter_context(served(build(company, inboxes=at.inboxes), listening))
        yield at


def bound(port: int) -> socket.socket:
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError as error:
        raise SystemExit(f"cannot listen on port {port}: {error.strerror}; choose another with --port") from error


def _databases(folder: Path, postgres: str | None, stack: ExitStack) -> dict[str, str]:
    """A database for each region; which of them a row is in is all that residency comes down to."""
    if postgres is None:
        return {name: f"sqlite:///{folder / name}.db" for name in REGIONS}
    return databases_on(postgres or stack.enter_context(private_server(folder / "postgres")), REGIONS)


@contextmanager
def served(app: ASGIApp, listening: socket.socket) -> Iterator[None]:
    """An app, served by a thread with an event loop of its own: signals stay with the main thread."""
    ready = threading.Event()
    server = _Announced(uvicorn.Config(app, log_level="warning", ws="none", timeout_graceful_shutdown=5), ready)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])), name="application")
    thread.start()
    ready.wait()
    try:
        if server.should_exit:
            raise SystemExit("the application did not start; the reason is above")
        yield
    finally:
        server.should_exit = True
        thread.join()


class _Announced(uvicorn.Server):
    """A server that says when it answers, or that it never will."""

    def __init__(self, config: uvicorn.Config, ready: threading.Event) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[Any] | None = None) -> None:
        try:
            await super().startup(sockets)
        finally:
            self._ready.set()

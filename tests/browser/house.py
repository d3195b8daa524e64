"""A whole house for browser tests: an outbox on SQLite, a mail server that misbehaves as told, a worker, the pages."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Self

import uvicorn

from postroom import AsyncOutbox, Email, Outbox
from postroom.accounts.accounts import add_person
from postroom.accounts.passwords import hash_password
from postroom.accounts.values import Role
from postroom.admin.app import build
from postroom.campaigns.serving import campaign_feed
from postroom.testing import ScriptedSmtp
from postroom.work.breaker import BreakerState
from postroom.work.breakers import known_routes
from postroom.work.thread import WorkerThread


class House:
    """Everything in one process, each part in a thread of its own; a context manager."""

    def __init__(self, folder: Path, *, dev: bool = True) -> None:
        self.database = f"sqlite:///{folder / 'outbox.db'}"
        self.smtp = ScriptedSmtp()
        self._dev = dev
        self._open = ExitStack()

    def __enter__(self) -> Self:
        self._open.enter_context(self.smtp)
        self.outbox = self._open.enter_context(Outbox(self.database, **self._settings()))
        self.outbox.migrate()
        self.pages = self._open.enter_context(Pages(self._app))
        return self

    def __exit__(self, *details: object) -> None:
        self._open.close()

    def worker(self) -> WorkerThread:
        """A worker, which sends campaigns too; to be started with `with`."""
        return WorkerThread(self.outbox.settings, grace="2s", beside=campaign_feed)

    def work(self, done: Callable[[dict[str, int]], bool]) -> None:
        """Let a worker work until the counts are as they should be."""
        with self.worker():
            self.wait(lambda: done(self.outbox.counts()))

    def wait(self, condition: Callable[[], bool], *, seconds: float = 30.0) -> None:
        """Until it holds; what never comes true is a failure."""
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f"waited {seconds} s in vain"
            time.sleep(0.02)

    def refuse(self, *recipients: str, reply: str = "550 5.1.1 no such user") -> None:
        """Emails to them, which the server refuses for good; afterwards it would take them."""
        for recipient in recipients:
            self.smtp.script(at="rcpt", argument=recipient, reply=reply)
            self.outbox.enqueue(Email(to=recipient, subject=f"For {recipient}", text="Hello"))
        before = self.outbox.counts()["dead"]
        self.work(lambda counts: counts["dead"] == before + len(recipients))
        self.smtp.clear_script()

    def add_person(self, name: str, password: str) -> None:
        """Somebody who may do everything once signed in."""
        plan = add_person(name, role=Role.ADMIN, password=hash_password(password))
        self.outbox.database.run(plan)

    def troubled(self) -> bool:
        """Whether a transport does not send just now."""
        known = self.outbox.database.run(known_routes(), writes=False)
        return any(each.breaker.state is not BreakerState.OK for each in known)

    def address(self, path: str) -> str:
        """Of a page."""
        return f"http://127.0.0.1:{self.pages.port}{path}"

    def _settings(self) -> dict[str, Any]:
        return {"smtp": self.smtp.url, "sender": "Hill House <desk@hillhouse.example>"}

    @asynccontextmanager
    async def _app(self) -> AsyncIterator[Any]:
        async with AsyncOutbox(self.database, **self._settings()) as outbox:
            yield build(outbox, dev=self._dev)


class Pages:
    """An app, served on a free port by a thread with an event loop of its own."""

    def __init__(self, app: Callable[[], AbstractAsyncContextManager[Any]]) -> None:
        self._app = app
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="pages", daemon=True)
        self._started = threading.Event()

    def __enter__(self) -> Self:
        self._thread.start()
        self._started.wait()
        return self

    def __exit__(self, *details: object) -> None:
        self._server.should_exit = True
        self._thread.join()

    async def _serve(self) -> None:
        async with self._app() as app:
            config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning", lifespan="on")
            self._server = _Announced(config, self._announce)
            await self._server.serve()

    def _announce(self) -> None:
        self.port: int = self._server.servers[0].sockets[0].getsockname()[1]
        self._started.set()


class _Announced(uvicorn.Server):
    """A server that says when it listens."""

    def __init__(self, config: uvicorn.Config, announce: Callable[[], None]) -> None:
        super().__init__(config)
        self._announce = announce

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self._announce()

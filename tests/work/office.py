"""An outbox, a mail server, and workers: in this process where a test looks inside, as processes where it kills."""

from __future__ import annotations

import asyncio
import fcntl
import re
import signal
import sqlite3
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from postroom import Email, EmailId, Outbox, RetryPolicy, Status
from postroom.claim.route import Route
from postroom.errors import StoreUnavailable
from postroom.send.smtp.pool import SmtpTransport
from postroom.store.contract import StoredEmail
from postroom.store.open import open_async_database
from postroom.testing import ScriptedSmtp
from postroom.work.worker import Worker, WorkerSettings
from tests.work.nursery import Nursery, WorkerProcess

PATIENCE = 60.0
"""Seconds to wait for an event that must come. Never what a test is about."""

AT_ONCE = RetryPolicy(steps=["0s"], max_attempts=1_000, name="at once")
"""Due again at once and never given up: what is being tested is what happens, not when."""

LIMITS = "connect=20s&greeting=20s&command=20s&data=20s&block=20s&dot=20s"


class Office:
    """Everything a worker needs. A context manager: no process is left behind."""

    def __init__(
        self,
        url: str,
        server: ScriptedSmtp,
        folder: Path,
        nursery: Nursery,
        *,
        routes: Iterable[str] = (),
        backup: ScriptedSmtp | None = None,
    ) -> None:
        """`routes`: those that emails may ask for; where they lead is the workers' business.

        With `backup`, processes know a route of that name, on which the default one falls back.
        """
        self.url = url
        self.server = server
        self.backup = backup
        self.journals = folder / "journals"
        self.diaries = folder / "diaries"
        """Where applications write down what they were promised."""
        self.outbox = Outbox(url, routes=dict.fromkeys(routes, "smtp://127.0.0.1:1"))
        self._folder = folder
        self._nursery = nursery
        self._processes: list[WorkerProcess] = []

    # Emails

    def enqueue(self, count: int = 1, *, text: str = "Good morning.", **wishes: Any) -> list[EmailId]:
        """So many emails, each to somebody else, due in this order."""
        emails = [Email(to=f"person{n}@example.org", subject=f"Email {n}", text=text) for n in range(count)]
        with self.outbox.transaction() as connection:
            return [
                self.outbox.enqueue(email, connection=connection, **({"policy": AT_ONCE} | wishes)).id
                for email in emails
            ]

    def get(self, id: EmailId) -> StoredEmail:
        return self.outbox.get(id)

    def statuses(self, ids: Iterable[EmailId]) -> set[Status]:
        return {self.get(id).status for id in ids}

    def copies(self, id: EmailId) -> int:
        """How often the server received it."""
        return self.server.copies(self.get(id).message_id)

    def order_of_arrival(self) -> list[str]:
        """The subjects in the order in which the server received them."""
        return [subject_of(message.data) for message in self.server.messages]

    @property
    def servers(self) -> list[ScriptedSmtp]:
        """Wherever an email may have arrived."""
        return [self.server] if self.backup is None else [self.server, self.backup]

    def unfinished(self) -> int:
        """Emails on which a worker has still something to do. One that is held for a person is not among them."""
        try:
            return self._unfinished()
        except StoreUnavailable:
            return sys.maxsize  # nobody can say; ask again

    def _unfinished(self) -> int:
        counts = self.outbox.counts()
        held = sum(email.next_attempt_at is None for email in self.outbox.list(status="in_doubt", limit=1000).emails)
        return sum(counts[status] for status in ("pending", "queued", "sending", "retrying", "in_doubt")) - held

    def try_to_stop(self, worker: WorkerProcess) -> bool:
        """SIGSTOP, but not where the worker holds the lock of an SQLite file: that would stop everybody, rightly."""
        worker.send_signal(signal.SIGSTOP)
        wait_until(lambda: worker.poll() is not None or worker.is_stopped())
        if self._can_write():
            return True
        worker.send_signal(signal.SIGCONT)
        return False

    def _can_write(self) -> bool:
        """Whether nobody holds the whole database locked."""
        if not self.url.startswith("sqlite"):
            return True
        connection = sqlite3.connect(urlsplit(self.url).path.removeprefix("/"), timeout=0.5, isolation_level=None)
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
        except sqlite3.OperationalError:
            return False
        finally:
            connection.close()
        return True

    def sql(self, statement: str, *values: Any) -> list[Any]:
        """Behind Postroom's back. Tables are written `{emails}`, values `?`."""
        prefix = "postroom_" if self.url.startswith("sqlite") else "postroom."
        spoken = re.sub(r"\{(\w+)\}", rf"{prefix}\1", statement)
        if not self.url.startswith("sqlite"):
            spoken = spoken.replace("?", "%s")
        with self.outbox.transaction() as connection:
            rows = connection.execute(spoken, values)
            return list(rows.fetchall()) if rows.description else []

    # Workers in this process

    @asynccontextmanager
    async def working(
        self,
        *,
        smtp: str | None = None,
        options: str = LIMITS,
        routes: Callable[[], list[Route]] | None = None,
        **settings: Any,
    ) -> AsyncIterator[Worker]:
        """A worker at work here, on its way through `smtp`, or by `routes`; stopped in good order at the end."""
        routes = routes or self._route(smtp or f"{self.server.url}?{options}")
        async with self._employed(routes(), settings) as worker:
            running = asyncio.create_task(worker.run())
            try:
                yield worker
            finally:
                worker.stop()
                await running

    @staticmethod
    def _route(url: str) -> Callable[[], list[Route]]:
        return lambda: [Route.over(SmtpTransport(url))]

    async def work_until_idle(
        self, *, options: str = LIMITS, routes: Callable[[], list[Route]] | None = None, **settings: Any
    ) -> None:
        """One worker here until nothing is due."""
        routes = routes or self._route(f"{self.server.url}?{options}")
        async with (
            self._employed(routes(), settings | {"until_idle": True}) as worker,
            asyncio.timeout(PATIENCE),
        ):
            await worker.run()

    @asynccontextmanager
    async def _employed(self, routes: list[Route], settings: dict[str, Any]) -> AsyncIterator[Worker]:
        known: dict[str, Any] = {
            "journals": self.journals,
            "poll": timedelta(seconds=1),
            "grace": timedelta(seconds=20),
        }
        database = open_async_database(self.url, clock=settings.pop("clock", None))
        try:
            yield Worker(database, routes, WorkerSettings(**known | settings))
        finally:
            await database.close()

    # Workers as processes

    def start_worker(
        self,
        *arguments: str,
        options: str = LIMITS,
        lease: str = "30s",
        journals: Path | None = None,
        **environment: str,
    ) -> WorkerProcess:
        """`postroom worker` as a process of its own; `POSTROOM_FAILPOINT="dot:3"` and the like as keywords."""
        settings = self.environment(options=options, lease=lease, journals=journals)
        return self.start("worker", *arguments, environment=settings | environment)

    def start_application(
        self,
        manner: str,
        *,
        errands: int | None = None,
        options: str = LIMITS,
        lease: str = "30s",
        journals: Path | None = None,
        **environment: str,
    ) -> WorkerProcess:
        """An application that sends inline until it is killed, or has run so many errands: see `application.py`."""
        settings = self.environment(options=options, lease=lease, journals=journals)
        limited = [] if errands is None else [str(errands)]
        return self.start("application", manner, str(self.diaries), *limited, environment=settings | environment)

    def applications_are_gone(self) -> bool:
        """Neither an application nor a child of one is alive."""
        self.diaries.mkdir(exist_ok=True)
        with (self.diaries / "alive.lock").open("w") as lock, suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        return False

    def start(self, *command: str, environment: dict[str, str]) -> WorkerProcess:
        """Any `postroom` command as a process of its own, or an `application`."""
        process = self._nursery.start(
            list(command),
            environment=environment,
            folder=self._folder,
            log=self._folder / f"worker-{len(self._processes)}.log",
        )
        self._processes.append(process)
        return process

    def environment(self, *, options: str = LIMITS, lease: str = "30s", journals: Path | None = None) -> dict[str, str]:
        """The settings of a worker of this office."""
        return {
            "POSTROOM_DATABASE": self.url,
            "POSTROOM_SMTP": f"{self.server.url}?{options}",
            "POSTROOM_JOURNAL": str(journals or self.journals),
            "POSTROOM_LEASE": lease,
            "EMAIL_WORKER_POLL_INTERVAL": "1s",
        } | self._fallback(options)

    def _fallback(self, options: str) -> dict[str, str]:
        if self.backup is None:
            return {}
        return {
            "POSTROOM_ROUTES__BACKUP__TRANSPORT": f"{self.backup.url}?{options}",
            "POSTROOM_ROUTES__DEFAULT__FALLBACK": "backup",
        }

    def logs(self) -> str:
        """What the workers that were processes have said."""
        return "\n".join(path.read_text() for path in sorted(self._folder.glob("worker-*.log")))

    def finish(self, *, workers: int = 1, lease: str = "2s", patience: float = PATIENCE, **settings: Any) -> None:
        """Start workers and let them work until nothing is left to do."""
        running = [self.start_worker(lease=lease, **settings) for _ in range(workers)]
        wait_until(lambda: not self.unfinished(), patience=patience)
        self.dismiss(running)

    def dismiss(self, running: Iterable[WorkerProcess]) -> None:
        """Have processes stop in good order."""
        for process in running:
            process.terminate()
        for process in running:
            # One that had nothing to do may be told to stop before it has begun to listen.
            assert process.wait(PATIENCE) in (0, -signal.SIGTERM), self.logs()

    # Its life

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        for process in self._processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait(PATIENCE)
        self.outbox.close()


def wait_until(condition: Callable[[], bool], *, patience: float = PATIENCE) -> None:
    """Wait for an event that must come."""
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("what was waited for did not happen")
        time.sleep(0.02)


async def until(condition: Callable[[], bool], *, patience: float = PATIENCE) -> None:
    """The same without holding up a worker in this process."""
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("what was waited for did not happen")
        await asyncio.sleep(0.02)


def subject_of(message: bytes) -> str:
    """What a received message is about."""
    for line in message.split(b"\r\n"):
        if line.lower().startswith(b"subject: "):
            return line[9:].decode()
    return ""

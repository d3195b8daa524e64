"""The ceiling: what an asyncio worker could reach with durable bookkeeping, if all it did were claim, send and settle.

Batches of two hundred are claimed and settled in single statements, the bytes are ready-made, and nothing is ever
retried, renewed, journalled or judged. `python -m bench.ceiling URL PORT CLIENT` is the worker; the client is ours
(`postroom`), or a bare sketch that only counts replies (`bare`).
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import asyncpg
import psycopg

from bench import message
from bench.draining import Filled
from bench.world import World, execute, python, scalar, settle_down
from postroom.send.contract import Envelope
from postroom.send.smtp.pool import SmtpTransport

BATCH = 200
CONNECTIONS = 16

_TABLES = """
CREATE TABLE bodies (id bigint PRIMARY KEY, body bytea NOT NULL);
CREATE TABLE mails (
    id bigint PRIMARY KEY, state smallint NOT NULL DEFAULT 0, due timestamptz NOT NULL DEFAULT now(),
    attempts smallint NOT NULL DEFAULT 0, claimed_at timestamptz, settled_at timestamptz, reply text,
    recipient text NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX mails_due ON mails (due, id) WHERE state = 0;
"""
_CLAIM = """
WITH claimed AS (
    UPDATE mails SET state = 1, claimed_at = now(), attempts = attempts + 1
    FROM (
        SELECT id FROM mails WHERE state = 0 AND due <= now() ORDER BY due, id LIMIT $1 FOR UPDATE SKIP LOCKED
    ) AS due
    WHERE mails.id = due.id
    RETURNING mails.id, mails.recipient
)
SELECT claimed.id, claimed.recipient, bodies.body FROM claimed JOIN bodies USING (id)
"""
_SETTLE = """
UPDATE mails SET state = 2, settled_at = now(), reply = outcome.reply
FROM unnest($1::bigint[], $2::text[]) AS outcome (id, reply)
WHERE mails.id = outcome.id AND state = 1
"""


class CeilingQueue:
    """Mails in two plain tables."""

    def __init__(self, world: World, *, name: str, client: str) -> None:
        self.name = name
        self._world = world
        self._client = client

    @contextmanager
    def filled(self, emails: int) -> Iterator[Filled]:
        with self._world.postgres.database() as url:
            execute(url, _TABLES)
            _fill(url, emails)
            settle_down(url)
            yield Filled(
                commands=lambda port: [python("bench.ceiling", url, port, self._client)],
                done=lambda: scalar(url, "SELECT count(*) FROM mails WHERE state = 2"),
            )


def _fill(url: str, emails: int) -> None:
    with psycopg.connect(url) as connection:
        with connection.cursor().copy("COPY mails (id, recipient) FROM STDIN") as copy:
            for number in range(emails):
                copy.write_row((number, message.recipient(number)))
        with connection.cursor().copy("COPY bodies (id, body) FROM STDIN") as copy:
            for number in range(emails):
                copy.write_row((number, message.ready_made(number)))


class Mail(NamedTuple):
    id: int
    envelope: Envelope


class Desk:
    """What waits to be sent and what waits to be settled; whoever sends takes from the one and adds to the other."""

    def __init__(self) -> None:
        self.mails: deque[Mail] = deque()
        self.outcomes: list[tuple[int, str]] = []
        self.open = 0
        self.low = asyncio.Event()
        self.filled = asyncio.Event()
        self.exhausted = False
        self._full = asyncio.Event()

    def take(self) -> Mail | None:
        if len(self.mails) <= BATCH:
            self.low.set()
        return self.mails.popleft() if self.mails else None

    def settled(self, mail: Mail, reply: str) -> None:
        self.outcomes.append((mail.id, reply))
        self.open -= 1
        if len(self.outcomes) >= BATCH // 2:
            self._full.set()

    async def claim(self, connection: Any) -> None:
        statement = await connection.prepare(_CLAIM)
        while rows := await statement.fetch(BATCH):
            self.open += len(rows)
            self.mails.extend(
                Mail(id, Envelope(sender=message.SENDER, recipients=(to,), message=body)) for id, to, body in rows
            )
            self.filled.set()
            if len(self.mails) > BATCH:
                self.low.clear()
                await self.low.wait()
        self.exhausted = True
        self.filled.set()

    async def settle(self, connection: Any) -> None:
        statement = await connection.prepare(_SETTLE)
        while not (self.exhausted and not self.open and not self.outcomes):
            with suppress(TimeoutError):
                async with asyncio.timeout(0.01):
                    await self._full.wait()
            self._full.clear()
            if self.outcomes:
                outcomes, self.outcomes = self.outcomes, []
                await statement.fetch([id for id, _ in outcomes], [reply for _, reply in outcomes])


async def send_with_ours(desk: Desk, port: int) -> None:
    """Sixteen lanes of Postroom's client."""
    transport = SmtpTransport(f"smtp://127.0.0.1:{port}?connections={CONNECTIONS}")

    async def lane() -> None:
        async with transport.connection() as connection:
            mail = None
            while True:
                mail = mail or desk.take()
                if mail is None:
                    if desk.exhausted:
                        return
                    desk.filled.clear()
                    await desk.filled.wait()
                    continue
                following = desk.take()
                report = await connection.deliver(mail.envelope, following=following.envelope if following else None)
                if report.reply is None or report.reply.code != 250:
                    raise RuntimeError(f"the sink answered {report}")
                desk.settled(mail, report.reply.text)
                mail = following

    async with asyncio.TaskGroup() as group:
        for _ in range(CONNECTIONS):
            group.create_task(lane())
    await transport.close()


class BareSession(asyncio.Protocol):
    """MAIL, RCPT and DATA in one write, then message and dot in another. Counts replies, fails on any refusal."""

    def __init__(self, desk: Desk) -> None:
        self.mail: Mail | None = None
        self._desk = desk
        self._step = "greeting"
        self._waiting_for = 1
        self._rest = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\r\n")
        for line in lines:
            if line[3:4] != b"-":
                self._hear(line)

    def _hear(self, line: bytes) -> None:
        assert self._transport is not None
        if line[:1] not in b"23":
            raise RuntimeError(f"the sink answered {line!r}")
        self._waiting_for -= 1
        if self._waiting_for:
            return
        if self._step == "greeting":
            self._say("hello", b"EHLO bench.example.com\r\n")
        elif self._step == "envelope":
            assert self.mail is not None
            body = self.mail.envelope.message
            self._say("dot", (body.replace(b"\n.", b"\n..") if b"\n." in body else body) + b".\r\n")
        else:
            if self.mail is not None:
                self._desk.settled(self.mail, line.decode())
            self.proceed()

    def proceed(self) -> None:
        """Begin the next mail, if there is one; otherwise wait to be called again."""
        self.mail = self._desk.take()
        if self.mail is None:
            self._step = "idle"
            return
        sender, to = message.SENDER.encode(), self.mail.envelope.recipients[0].encode()
        self._say("envelope", b"MAIL FROM:<%b>\r\nRCPT TO:<%b>\r\nDATA\r\n" % (sender, to), replies=3)

    @property
    def idle(self) -> bool:
        return self._step == "idle"

    def _say(self, step: str, words: bytes, *, replies: int = 1) -> None:
        assert self._transport is not None
        self._step, self._waiting_for = step, replies
        self._transport.write(words)


async def send_barely(desk: Desk, port: int) -> None:
    """Sixteen bare sessions, woken when there is something to take."""
    loop = asyncio.get_running_loop()
    pairs = [await loop.create_connection(lambda: BareSession(desk), "127.0.0.1", port) for _ in range(CONNECTIONS)]
    while not (desk.exhausted and not desk.open):
        desk.filled.clear()
        for _transport, session in pairs:
            if session.idle and desk.mails:
                session.proceed()
        with suppress(TimeoutError):
            async with asyncio.timeout(0.01):
                await desk.filled.wait()
    for transport, _session in pairs:
        transport.close()


async def work(url: str, port: int, client: str) -> None:
    desk = Desk()
    claiming, settling = await asyncpg.connect(url), await asyncpg.connect(url)
    async with asyncio.TaskGroup() as group:
        group.create_task(desk.claim(claiming))
        group.create_task(desk.settle(settling))
        group.create_task((send_with_ours if client == "postroom" else send_barely)(desk, port))
    await claiming.close()
    await settling.close()


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], int(sys.argv[2]), sys.argv[3]))

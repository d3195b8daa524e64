"""Taking emails in: one with a business row in the caller's transaction, and many at once, on PostgreSQL."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg

from bench import message
from bench.postroom_queue import on_postgres, on_sqlite
from bench.readings import Contestant, Reading
from bench.world import World, settle_down
from postroom import Outbox

SINGLE = "enqueue, business row and email in one transaction"
SINGLE_BARE = "two bare INSERTs in one transaction"
MANY = "enqueue_many"
MANY_BARE = "bare COPY of the same bytes into the same tables"
MANY_PLAIN = "bare COPY of the emails into one plain table"
SINGLE_SQLITE = "enqueue, one email a commit, SQLite"

_BUSINESS = "CREATE TABLE business (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, what text NOT NULL)"
_PLAIN = """CREATE TABLE plain (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, recipient text NOT NULL, subject text NOT NULL,
    text text NOT NULL, html text NOT NULL
)"""
_INSERT = "INSERT INTO plain (recipient, subject, text, html) VALUES (%s, %s, %s, %s)"
SLICE = 0.1
_TABLES = ("contents", "terms", "emails")


def contestants(world: World) -> list[Contestant]:
    desk = _Desk(world)
    return [
        Contestant(name=SINGLE, measure=desk.single),
        Contestant(name=MANY, measure=desk.many),
        Contestant(name=MANY_BARE, measure=desk.many_bare),
        Contestant(name=MANY_PLAIN, measure=desk.many_plain),
        Contestant(name=SINGLE_SQLITE, measure=desk.single_sqlite),
    ]


def _row(number: int) -> tuple[str, str, str, str]:
    return message.recipient(number), message.subject(number), message.text(number), message.html(number)


@dataclass(slots=True)
class _Desk:
    """One database a measurement, with the user's own tables beside the outbox."""

    world: World

    def single(self) -> list[Reading]:
        """Both ways on one connection, in short turns: a commit's time depends on what else the disk has to do."""
        with self._database() as (connection, outbox):

            def ours(number: int) -> None:
                with connection.transaction():
                    connection.execute("INSERT INTO business (what) VALUES (%s)", ("order",))
                    outbox.enqueue(message.email(number), connection=connection)

            def bare(number: int) -> None:
                with connection.transaction():
                    connection.execute("INSERT INTO business (what) VALUES (%s)", ("order",))
                    connection.execute(_INSERT, _row(number))

            turns = [(self._rate(ours, share=SLICE), self._rate(bare, share=SLICE)) for _ in range(round(1 / SLICE))]
        return [
            Reading(what=SINGLE, value=statistics.mean(turn[0] for turn in turns), unit="tx/s"),
            Reading(what=SINGLE_BARE, value=statistics.mean(turn[1] for turn in turns), unit="tx/s"),
        ]

    def many(self) -> list[Reading]:
        with self._database() as (_connection, outbox):
            return [Reading(what=MANY, value=self._bulk(lambda: _enqueue(outbox, self._emails)), unit="rows/s")]

    def many_bare(self) -> list[Reading]:
        """What `enqueue_many` left in its tables, taken out as bytes, into fresh tables with the same indexes."""
        with self._database() as (connection, outbox):
            _enqueue(outbox, self._emails)
            contents = {table: _copied(connection, table) for table in _TABLES}
            for table in _TABLES:
                connection.execute(f"CREATE TABLE bare_{table} (LIKE postroom.{table} INCLUDING ALL)")
            connection.commit()
            return [Reading(what=MANY_BARE, value=self._bulk(lambda: _copy(connection, contents)), unit="rows/s")]

    def many_plain(self) -> list[Reading]:
        with self._database() as (connection, _outbox):

            def copy() -> None:
                with (
                    connection.transaction(),
                    connection.cursor().copy("COPY plain (recipient, subject, text, html) FROM STDIN") as plain,
                ):
                    for number in range(self._emails):
                        plain.write_row(_row(number))

            return [Reading(what=MANY_PLAIN, value=self._bulk(copy), unit="rows/s")]

    def single_sqlite(self) -> list[Reading]:
        with on_sqlite(self.world) as url, Outbox(url) as outbox:
            rate = self._rate(lambda number: outbox.enqueue(message.email(number)))
            return [Reading(what=SINGLE_SQLITE, value=rate, unit="tx/s")]

    @property
    def _emails(self) -> int:
        return self.world.scale.emails

    @contextmanager
    def _database(self) -> Iterator[tuple[psycopg.Connection, Outbox]]:
        with on_postgres(self.world) as url:
            with psycopg.connect(url, autocommit=True) as setup:
                setup.execute(_BUSINESS)
                setup.execute(_PLAIN)
            settle_down(url)
            with psycopg.connect(url) as connection, Outbox(url) as outbox:
                yield connection, outbox

    def _rate(self, once: Callable[[int], object], *, share: float = 1.0) -> float:
        """Calls per second, over a share of the time that a run takes."""
        once(0)
        number, started = 0, time.monotonic()
        while (elapsed := time.monotonic() - started) < self.world.scale.seconds * share:
            number += 1
            once(number)
        return number / elapsed

    def _bulk(self, work: Callable[[], object]) -> float:
        started = time.monotonic()
        work()
        return self._emails / (time.monotonic() - started)


def _enqueue(outbox: Outbox, emails: int) -> None:
    outbox.enqueue_many(message.email(number) for number in range(emails))


def _copied(connection: psycopg.Connection, table: str) -> list[bytes]:
    with connection.cursor().copy(f"COPY postroom.{table} TO STDOUT") as copy:
        return [bytes(block) for block in copy]


def _copy(connection: psycopg.Connection, contents: dict[str, list[bytes]]) -> None:
    with connection.transaction():
        for table, blocks in contents.items():
            with connection.cursor().copy(f"COPY bare_{table} FROM STDIN") as copy:
                for block in blocks:
                    copy.write(block)

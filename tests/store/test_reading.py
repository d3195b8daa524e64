"""A large answer of PostgreSQL is read without a turn of the event loop for each piece of it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Generator
from typing import Any

import pytest
from psycopg.waiting import Ready, Wait

from postroom.store.postgres.awaiting import AsyncPostgresDatabase
from postroom.store.postgres.reading import MOST_AT_ONCE, ThoroughConnection, reading_on

PIECE = 16


def conversation(peer: socket.socket, octets: int) -> Generator[Wait, Ready, bytes]:
    """Reads a piece at a time, as libpq does, and asks to wait after each."""
    read = b""
    while len(read) < octets:
        assert (yield Wait.R)
        read += peer.recv(PIECE)
    return read


def turns(talk: Generator[Any, Ready, bytes]) -> tuple[int, bytes]:
    """How often it was waited for, and what it came to."""
    waits = 1
    next(talk)
    while True:
        try:
            talk.send(Ready.R)
        except StopIteration as end:
            return waits, end.value
        waits += 1


def test_what_has_arrived_is_read_in_one_turn() -> None:
    here, there = socket.socketpair()
    with here, there:
        there.sendall(b"x" * 50 * PIECE)
        assert turns(reading_on(conversation(here, 50 * PIECE), here.fileno())) == (1, b"x" * 50 * PIECE)


def test_what_has_not_arrived_is_waited_for() -> None:
    here, there = socket.socketpair()
    with here, there:
        there.sendall(b"x" * PIECE)
        talk = reading_on(conversation(here, 2 * PIECE), here.fileno())
        next(talk)
        assert talk.send(Ready.R) == Wait.R
        there.sendall(b"y" * PIECE)
        with pytest.raises(StopIteration) as end:
            talk.send(Ready.R)
        assert end.value.value == b"x" * PIECE + b"y" * PIECE


def test_a_very_large_answer_leaves_the_loop_its_turns() -> None:
    here, there = socket.socketpair()
    with here, there:
        octets = 3 * (MOST_AT_ONCE + 1) * PIECE
        there.sendall(b"x" * octets)
        waits, read = turns(reading_on(conversation(here, octets), here.fileno()))
        assert (waits, len(read)) == (3, octets)


def test_an_answer_of_some_megabytes_comes_whole_and_the_connection_survives_a_cancelled_one(postgres_url: str) -> None:
    async def work() -> None:
        database = AsyncPostgresDatabase(postgres_url)
        try:
            async with database.connection() as connection:
                assert isinstance(connection, ThoroughConnection)
                sleeping = asyncio.ensure_future(connection.execute("SELECT pg_sleep(60)"))
                await asyncio.sleep(0.1)
                sleeping.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await sleeping
                answer = await connection.execute("SELECT repeat('x', 2500) FROM generate_series(1, 3000)")
                assert [len(text) for [text] in await answer.fetchall()] == [2500] * 3000
        finally:
            await database.close()

    asyncio.run(work())

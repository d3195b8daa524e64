"""A connection that reads a large answer in few turns of the event loop.

libpq takes 16 kB at a time from the socket, and psycopg goes round the loop for each: some forty times for a claim of
three hundred emails, with a timer and two changes to epoll each time. What has arrived already is read at once here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import psycopg
from psycopg.waiting import Ready, Wait

from postroom.store.postgres.idle import has_news

if TYPE_CHECKING:
    from psycopg.abc import PQGen

T = TypeVar("T")

MOST_AT_ONCE = 64
"""Reads without a look at what else the loop has to do: a megabyte."""
_TO_READ, _READABLE = int(Wait.R), Ready.R


class ThoroughConnection(psycopg.AsyncConnection[Any]):
    """Reads what is there before it waits for more."""

    async def wait(self, gen: PQGen[T], *arguments: Any, **named: Any) -> T:
        """Carry out one conversation with the server."""
        return await super().wait(reading_on(gen, self.pgconn.socket), *arguments, **named)


def reading_on(conversation: PQGen[T], socket: int) -> PQGen[T]:
    """The same conversation, which waits only when there is nothing to read."""
    try:
        wanted = next(conversation)
        while True:
            wanted = conversation.send((yield wanted))
            for _ in range(MOST_AT_ONCE):
                if wanted != _TO_READ or not has_news(socket):
                    break
                wanted = conversation.send(_READABLE)
    except StopIteration as end:
        result: T = end.value
        return result

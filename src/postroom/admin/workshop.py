"""Where long work is done: in threads of its own, a few at once, so that the event loop goes on answering.

What is done here lets go of the interpreter again and again: Python code does by itself, and nh3 and zlib do for as
long as they work. What would not (parsing a JSON of millions of values) must be refused before it comes here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import ParamSpec, TypeVar, cast

from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection

from postroom.fork import tell_after_fork

P = ParamSpec("P")
T = TypeVar("T")

AT_ONCE = 2
MOST_WAITING = 32
"""Pieces of work under way and waiting; whoever comes beyond that is told to come again."""


class Workshop:
    """For any number of event loops; its threads are started when first needed, and end with it."""

    def __init__(self) -> None:
        self.forget_parent()
        tell_after_fork(self)

    def forget_parent(self) -> None:
        """Begin anew: threads do not come along into a forked child."""
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="postroom-web")
        self._lock = Lock()
        self._waiting = 0

    async def do(self, work: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        """What `work` returns or raises. It is brought to its end also if nobody waits for it any more."""
        with self._lock:
            if self._waiting >= MOST_WAITING:
                raise HTTPException(503, headers={"Retry-After": "2"})
            self._waiting += 1
        done = self._threads.submit(work, *arguments, **options)
        done.add_done_callback(lambda _: self._one_less())
        return await asyncio.wrap_future(done)

    def _one_less(self) -> None:
        with self._lock:
            self._waiting -= 1


def workshop_of(request: HTTPConnection) -> Workshop:
    """The workshop of this app."""
    return cast("Workshop", request.app.state.workshop)

"""Where inline sends happen: an event loop in a thread of its own, for blocking callers and for awaiting ones alike.

So nothing that a caller does to itself reaches an email that has begun: not a cancelled task, not an event loop that is
blocked or closed, not a thread that gives up. Made when first needed; a forked child makes its own.
"""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from postroom.errors import PostroomError
from postroom.fork import tell_after_fork
from postroom.outbox.inline import InlineSender, InlineSettings
from postroom.outbox.outcome import SendOutcome
from postroom.store.order import Order

T = TypeVar("T")

_of_parents: list[_Running] = []
"""Kept for good in a forked child: were they collected, they would close what is still their parent's."""


class InlineThread:
    """Sends inline for any number of threads and event loops."""

    def __init__(self, settings: InlineSettings) -> None:
        self._settings = settings
        self._begin()
        tell_after_fork(self)

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._running: _Running | None = None
        self._closed = False

    def forget_parent(self) -> None:
        if self._running is not None:
            _of_parents.append(self._running)
        self._begin()

    def send(self, order: Order, *, durable: bool) -> Future[SendOutcome]:
        """Send now, or keep it. Whoever waits for the future may stop waiting: the email comes to its end."""
        return self._ask(lambda inline: inline.send(order, durable=durable))

    def send_soon(self, order: Order) -> Future[SendOutcome]:
        """Store it, and send it when the future is done already."""
        return self._ask(lambda inline: inline.send_soon(order))

    def close(self) -> None:
        """Bring what has begun to its recorded end, give back what has not, and answer everybody who waits."""
        with self._lock:
            running, self._running, self._closed = self._running, None, True
        if running is not None:
            atexit.unregister(self.close)
            running.close()

    def _ask(self, question: Callable[[InlineSender], Coroutine[Any, Any, T]]) -> Future[T]:
        with self._lock:  # held, so that nobody closes what is being asked
            if self._closed:
                raise PostroomError("this outbox is closed; make a new one to send with")
            if self._running is None:
                self._running = _Running(self._settings)
                atexit.register(self.close)
            return self._running.ask(question)


class _Running:
    """The thread, its event loop and who sends in it."""

    def __init__(self, settings: InlineSettings) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="postroom-inline", daemon=True)
        self._thread.start()
        try:
            self._inline = self._wait_for(_made(settings))
        except BaseException:
            self._end()
            raise

    def ask(self, question: Callable[[InlineSender], Coroutine[Any, Any, T]]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(question(self._inline), self._loop)

    def close(self) -> None:
        try:
            self._wait_for(self._inline.close())
        finally:
            self._end()

    def _wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _made(settings: InlineSettings) -> InlineSender:
    return InlineSender(settings)

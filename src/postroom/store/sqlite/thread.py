"""A thread that does one thing after another for an event loop.

Like an executor of one thread, but for two things. What has been asked for is done, also if whoever asked no longer
waits: a transaction is never half somebody's. And it works until it is closed, in `atexit` handlers too, where the
standard library's executors refuse: what is under way when an application ends can be brought to its end.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

from postroom.errors import StoreUnavailable

T = TypeVar("T")


class _Asked(NamedTuple):
    work: Callable[[], Any]
    loop: asyncio.AbstractEventLoop
    answer: asyncio.Future[Any]


class WorkThread:
    """Started when first needed, for any event loop."""

    def __init__(self, name: str) -> None:
        self.closed = False
        self._name = name
        self._asked: SimpleQueue[_Asked | None] = SimpleQueue()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    async def run(self, work: Callable[[], T]) -> T:
        """What `work` returns or raises. It is done whether or not this is cancelled."""
        if self.closed:
            raise StoreUnavailable("the database is closed: this outbox has ended; make a new one")
        loop = asyncio.get_running_loop()
        asked = _Asked(work, loop, loop.create_future())
        if self._thread is not None or self._start():
            self._asked.put(asked)
        else:
            _do(asked)
        return await asked.answer  # type: ignore[no-any-return]

    def close(self) -> None:
        """Nothing more is asked for; what was asked for is done."""
        self.closed = True
        self._asked.put(None)

    def __del__(self) -> None:
        self._asked.put(None)

    def _start(self) -> bool:
        """False when Python is too far gone to start threads: then whoever asks does it."""
        with self._starting:
            if self._thread is None:
                thread = threading.Thread(target=_work, args=(self._asked,), name=self._name, daemon=True)
                try:
                    thread.start()
                except RuntimeError:
                    return False
                self._thread = thread
        return True


def _work(queue: SimpleQueue[_Asked | None]) -> None:
    while (asked := queue.get()) is not None:
        _do(asked)
        del asked  # what it refers to is not kept until the next one comes


def _do(asked: _Asked) -> None:
    result: Any = None
    error: BaseException | None = None
    try:
        result = asked.work()
    except BaseException as raised:  # noqa: BLE001  whoever asked is told
        error = raised
    try:
        asked.loop.call_soon_threadsafe(_tell, asked.answer, result, error)
    except RuntimeError:  # the loop is closed: nobody waits
        pass
    finally:
        del error


def _tell(answer: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if answer.done():  # cancelled
        return
    if error is None:
        answer.set_result(result)
    else:
        answer.set_exception(error)

"""Work taken on to be done soon, by a few threads; bounded, and not lost when the process ends."""

from __future__ import annotations

import atexit
import os
import queue
import threading
from collections.abc import Callable

Work = Callable[[], None]

MOST_IN_BACKGROUND = 100
"""Emails taken on and not yet begun; beyond that the outbox is the better place for them."""


class Background:
    """Does work in threads. When it is full it says so, and the caller does something else."""

    def __init__(self, *, threads: int = 4, most: int = MOST_IN_BACKGROUND) -> None:
        self._threads = threads
        self._most = most
        self._lock = threading.Lock()
        self._process = 0
        self._running: list[threading.Thread] = []

    def offer(self, work: Work, *, otherwise: Work) -> bool:
        """Take work on, if there is room. Should the process end before it has begun, `otherwise` is done instead."""
        self._start()
        try:
            self._queue.put_nowait((work, otherwise))
        except queue.Full:
            return False
        return True

    def close(self) -> None:
        """Let what has begun finish; do the other thing for what has not."""
        with self._lock:
            if self._process != os.getpid():
                return
            self._process = 0
        while True:
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                break
            if item is not None:
                item[1]()
        for _ in self._running:
            self._queue.put(None)
        for thread in self._running:
            thread.join()

    def _start(self) -> None:
        with self._lock:
            if self._process == os.getpid():
                return
            self._queue: queue.Queue[tuple[Work, Work] | None] = queue.Queue(self._most)
            self._running = [
                threading.Thread(target=self._work, name="postroom-background", daemon=True)
                for _ in range(self._threads)
            ]
            for thread in self._running:
                thread.start()
            self._process = os.getpid()
            atexit.register(self.close)

    def _work(self) -> None:
        while (item := self._queue.get()) is not None:
            item[0]()

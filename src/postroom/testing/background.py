"""An event loop in a thread of its own, for servers that synchronous and asynchronous tests use alike."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")


class BackgroundLoop:
    """Runs coroutines elsewhere and waits for them here. After `stop`, no thread and no task is left."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        """Run to the end and return the result."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(timeout=30)

    def call(self, function: Callable[[], _T]) -> _T:
        """Call a plain function in the loop's thread."""

        async def wrapped() -> _T:
            return function()

        return self.run(wrapped())

    def stop(self) -> None:
        """Cancel what still runs, and end the thread."""
        self.run(self._cancel_all())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=30)
        self._loop.close()

    async def _cancel_all(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # Transports that were just aborted are closed in the next turns of the loop.
        for _ in range(3):
            await asyncio.sleep(0)

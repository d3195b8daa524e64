"""One face for the blocking and the awaiting outbox, so that one suite asks both the same questions."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from postroom import AsyncOutbox, Outbox


class Awaited:
    """An `AsyncOutbox` in an event loop of its own; every verb blocks until it is done, as those of `Outbox` do."""

    def __init__(self, database: str, **settings: Any) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="test-loop", daemon=True)
        self._thread.start()
        self.outbox = self._run(self._made(database, settings))

    def __enter__(self) -> Awaited:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        return lambda *given, **named: self._run(getattr(self.outbox, verb)(*given, **named))

    def close(self) -> None:
        if self._loop.is_closed():
            return
        self._run(self.outbox.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _made(self, database: str, settings: dict[str, Any]) -> AsyncOutbox:
        return AsyncOutbox(database, **settings)

    def _run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


Shell = Outbox | Awaited
SHELLS: dict[str, Callable[..., Any]] = {"blocking": Outbox, "awaiting": Awaited}

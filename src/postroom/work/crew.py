"""The tasks that keep a service going: duties for as long as it runs, and errands that nobody can wait for.

A task that fails on a bug of ours stops the service: a supervisor starts a whole one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from postroom.claim.feed import call_off
from postroom.errors import PostroomError, StoreUnavailable
from postroom.logs import logger
from postroom.store.open import AsyncDatabase


class Crew:
    """Everybody at work beside the service's main loop."""

    def __init__(self, database: AsyncDatabase, *, stop: Callable[[], None]) -> None:
        self._database = database
        self._stop = stop
        self._duties: list[asyncio.Task[None]] = []
        self._errands: set[asyncio.Task[None]] = set()
        self._failure: BaseException | None = None

    def take_on(self, name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Have something done beside everything else."""
        task = asyncio.create_task(work, name=name)
        task.add_done_callback(self._ended)
        return task

    def add_duty(self, name: str, duty: Coroutine[Any, Any, None]) -> None:
        """Something that goes on until it is called off."""
        self._duties.append(self.take_on(name, duty))

    def every(self, seconds: float, duty: Callable[[], Awaitable[None]], *, name: str) -> None:
        """Something to be done now and then. While the database is away, it is only tried again later."""
        self.add_duty(name, self._every(seconds, duty))

    def run_errand(self, errand: Coroutine[Any, Any, None]) -> None:
        """Something to be done soon, once."""
        task = self.take_on("errand", errand)
        self._errands.add(task)
        task.add_done_callback(self._errands.discard)

    async def errands_done(self) -> None:
        await asyncio.gather(*self._errands)

    async def call_off(self) -> None:
        """The duties are over."""
        await call_off(self._duties)

    def raise_failure(self) -> None:
        """Raise the first failure, if there was one."""
        if self._failure is not None:
            raise self._failure

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (failure := task.exception()) is not None:
            # What we say ourselves is said in full by its words; anything else is a bug, and wants its traceback.
            told = {"error": str(failure)} if isinstance(failure, PostroomError) else {"exc_info": failure}
            logger.error("task failed", task=task.get_name(), **told)
            self._failure = self._failure or failure
            self._stop()

    async def _every(self, seconds: float, duty: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await duty()
            except StoreUnavailable as error:
                logger.warning("the database is away", error=str(error))
                await self._database.refresh()
            await asyncio.sleep(seconds)

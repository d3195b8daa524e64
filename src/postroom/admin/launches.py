"""Launches that may take longer than a request: whoever asks waits for a while, the launch goes on to its end.

A million prospects are checked and scheduled in minutes, and no proxy waits for that. So a launch is a task of this
process; who asks for the same one meanwhile joins it. What fails after nobody waited any more is told to whoever asks
next. A process that ends in the middle loses nothing: a launch asked for again goes on where it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import cast

from fastapi import Request

from postroom.campaigns.sending.launching import Launched, Progress
from postroom.logs import logger
from postroom.vocabulary import LaunchStage

PATIENCE = 20.0
"""Seconds that one request waits for a launch."""

Key = tuple[str, str]
"""Workspace and campaign."""


@dataclass(slots=True)
class UnderWay:
    """A launch that was begun."""

    prospects: int = 0
    """Launched so far; 0 as long as all are checked."""
    callers: int = 0
    """Who wait for it."""
    task: asyncio.Task[Launched] = field(init=False)

    def went_through(self, stage: LaunchStage, count: int) -> None:
        if stage is LaunchStage.LAUNCHING:
            self.prospects += count


class Launches:
    """Those of one app, by workspace and campaign."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self.patience = patience
        self._under_way: dict[Key, UnderWay] = {}

    @property
    def under_way(self) -> tuple[UnderWay, ...]:
        """Those that go on, and those whose failure nobody has heard of."""
        return tuple(self._under_way.values())

    async def go_on(self, key: Key, begin: Callable[[Progress], Awaitable[Launched]]) -> Launched | UnderWay:
        """What a launch came to; or how far it is, where it takes longer than anybody waits."""
        launch = self._under_way.get(key) or self._begun(key, begin)
        launch.callers += 1
        try:
            done, _ = await asyncio.wait({launch.task}, timeout=self.patience)
        finally:
            launch.callers -= 1
        if not done:
            return launch
        self._forget(key, launch)
        return launch.task.result()

    def _begun(self, key: Key, begin: Callable[[Progress], Awaitable[Launched]]) -> UnderWay:
        launch = self._under_way[key] = UnderWay()
        launch.task = asyncio.ensure_future(_as_task(begin, launch))
        launch.task.add_done_callback(lambda task: self._ended(key, launch, task))
        return launch

    def _ended(self, key: Key, launch: UnderWay, task: asyncio.Task[Launched]) -> None:
        """One that succeeded need not be remembered, for the same again is answered at once."""
        if task.cancelled() or task.exception() is None:
            self._forget(key, launch)
        elif not launch.callers:
            logger.warning("a launch has ended early", campaign=key[1], error=type(task.exception()).__name__)

    def _forget(self, key: Key, launch: UnderWay) -> None:
        if self._under_way.get(key) is launch:
            del self._under_way[key]


async def _as_task(begin: Callable[[Progress], Awaitable[Launched]], launch: UnderWay) -> Launched:
    return await begin(launch.went_through)


def launches_of(request: Request) -> Launches:
    """The launches of this app."""
    return cast("Launches", request.app.state.launches)

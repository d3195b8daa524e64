"""Which routes a scheduler names emails of: all of them, but those that are shut.

Messages of a route that may not be used would fill the queues for nothing, and hold up the emails of every other one.
"""

from __future__ import annotations

import math
import time

from postroom.store import questions
from postroom.store.open import AsyncDatabase
from postroom.store.overview import clock
from postroom.store.plan import Plan
from postroom.work.breakers import known_routes

LOOK = 1.0
"""Seconds between looks."""


class OpenRoutes:
    """The routes that may be used, as of a moment ago."""

    def __init__(self, database: AsyncDatabase) -> None:
        self._database = database
        self._looked = -math.inf
        self._open: list[str] | None = None

    async def names(self) -> list[str] | None:
        """Those that may be used; None when all may."""
        if time.monotonic() - self._looked >= LOOK:
            self._open = await self._database.run(_open_routes(), writes=False)
            self._looked = time.monotonic()
        return self._open

    def look_anew(self) -> None:
        """Something has happened since: what was seen before counts no longer."""
        self._looked = -math.inf


def _open_routes() -> Plan[list[str] | None]:
    now = yield from clock()
    shut = {route.name for route in (yield from known_routes()) if not route.breaker.may_send(now)}
    if not shut:
        return None
    return [name for name in (yield from questions.waiting_routes()) if name not in shut]

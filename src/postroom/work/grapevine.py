"""Tells other workers what attempts said about the routes.

One word at a time, in one transaction: what is heard meanwhile goes with the next one. So many routes that fail in the
same moment keep one connection busy, and not all that there are.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Coroutine
from typing import Any

from postroom.errors import StoreUnavailable
from postroom.logs import logger
from postroom.settle.verdict import TransportVerdict
from postroom.store.open import AsyncDatabase
from postroom.work.breaker import Breaker
from postroom.work.breakers import learn_all

Told = Callable[[Breaker | None], None]
"""Called when others know, with how the route stands now; None if they could not be told."""


class Grapevine:
    """What was heard and not yet passed on."""

    def __init__(self, database: AsyncDatabase, *, soon: Callable[[Coroutine[Any, Any, None]], None]) -> None:
        """`soon` runs an errand."""
        self._database = database
        self._soon = soon
        self._heard: dict[str, list[TransportVerdict]] = {}
        self._told: dict[str, Told] = {}
        self._telling = False

    def pass_on(self, route: str, verdict: TransportVerdict, told: Told) -> None:
        """Tell others soon."""
        self._heard.setdefault(route, []).append(verdict)
        self._told[route] = told
        if not self._telling:
            self._telling = True
            self._soon(self._tell())

    async def _tell(self) -> None:
        try:
            while self._heard:
                heard, self._heard = self._heard, {}
                known = await self._learn(heard)
                for route in heard:
                    if route not in self._heard:  # else more was heard meanwhile, and the answer knows less than we do
                        self._told.pop(route)(known.get(route))
        finally:
            self._telling = False

    async def _learn(self, heard: dict[str, list[TransportVerdict]]) -> dict[str, Breaker]:
        try:
            return await self._database.run(learn_all(heard, jitter=random.random()))
        except StoreUnavailable as error:
            logger.warning("could not tell other workers of the routes", error=str(error))
            return {}

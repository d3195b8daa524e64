"""What attempts say about the routes reaches other workers in as few words as possible, and in the right order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from typing import Any

import pytest

from postroom.errors import StoreUnavailable
from postroom.settle.verdict import Health, TransportVerdict
from postroom.store.open import AsyncDatabase, open_async_database
from postroom.work import breakers
from postroom.work.breaker import Breaker, BreakerState
from postroom.work.grapevine import Grapevine

DOWN = TransportVerdict(health=Health.SUSPECT, reason="refused")
REFUSED = TransportVerdict(health=Health.PAUSE, reason="535 no")


class Village:
    """A grapevine over a real database that can be made to take its time, or to be away."""

    def __init__(self, database: AsyncDatabase) -> None:
        self.database = database
        self.open = asyncio.Event()
        self.away = False
        self.words = 0
        """How often the database was told something."""
        self.told: list[tuple[str, Breaker | None]] = []
        self._errands: set[asyncio.Task[None]] = set()
        self.grapevine = Grapevine(self, soon=self._soon)  # type: ignore[arg-type]  # all it needs is `run`

    async def run(self, plan: Any) -> Any:
        self.words += 1
        await self.open.wait()
        if self.away:
            raise StoreUnavailable("gone fishing")
        return await self.database.run(plan)

    def hear(self, route: str, verdict: TransportVerdict) -> None:
        self.grapevine.pass_on(route, verdict, lambda breaker: self.told.append((route, breaker)))

    async def quiet(self) -> None:
        """All that was heard has been passed on."""
        await asyncio.gather(*self._errands)

    async def state(self, route: str) -> BreakerState:
        known = await self.database.run(breakers.known_routes(), writes=False)
        return {each.name: each.breaker.state for each in known}[route]

    def _soon(self, errand: Coroutine[Any, Any, None]) -> None:
        self._errands.add(asyncio.create_task(errand))


@pytest.fixture
async def village(store_url: str) -> AsyncIterator[Village]:
    database = open_async_database(store_url)
    yield Village(database)
    await database.close()


async def test_routes_that_fail_in_the_same_moment_are_told_of_in_two_words(village: Village) -> None:
    """The first word is under way while the rest comes in; all the rest is the second."""
    routes = [f"route{number}" for number in range(9)]
    for _ in range(3):
        for route in routes:
            village.hear(route, DOWN)
        await asyncio.sleep(0)
    village.open.set()
    await village.quiet()

    assert village.words == 2
    assert {await village.state(route) for route in routes} == {BreakerState.OPEN}


async def test_an_answer_that_knows_less_than_we_do_is_not_heeded(village: Village) -> None:
    village.hear("default", DOWN)
    await asyncio.sleep(0)
    village.hear("default", REFUSED)
    village.open.set()
    await village.quiet()

    [(route, breaker)] = village.told
    assert (route, breaker and breaker.state) == ("default", BreakerState.PAUSED)


async def test_while_the_database_is_away_nobody_is_told_and_the_next_word_goes_out_again(village: Village) -> None:
    village.away = True
    village.open.set()
    village.hear("default", REFUSED)
    await village.quiet()
    assert village.told == [("default", None)]

    village.away = False
    village.hear("default", REFUSED)
    await village.quiet()
    assert await village.state("default") is BreakerState.PAUSED

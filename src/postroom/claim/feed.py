"""What brings a worker its emails, and what it finds at hand for that.

A worker sends whatever is in its buffer, wherever it came from. `Claimer` asks the database for what is due; the feed
of `postroom sender` asks it for what messages in a broker name. Both claim under the same leases, for the same lanes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol, TypeVar

from postroom.claim.buffer import Buffer
from postroom.claim.clock import DatabaseClock
from postroom.claim.leases import Holdings
from postroom.claim.meter import Meter
from postroom.claim.route import Route
from postroom.claim.wakeup import WakeUp
from postroom.store.contract import Claimed
from postroom.store.open import AsyncDatabase
from postroom.store.plan import Plan

T = TypeVar("T")

CALL_AGAIN = 1.0
"""Seconds until a task that was called off and has not ended is told again."""


class Guard(Protocol):
    """Carries a plan out, or raises in its place."""

    def __call__(self, plan: Plan[T], /) -> Plan[T]: ...


def unguarded(plan: Plan[T], /) -> Plan[T]:
    """Nothing speaks against it."""
    return plan


class HandOver(Protocol):
    """Calls `ready` with emails, all at once or bit by bit, as soon as they can leave."""

    async def __call__(self, emails: Sequence[Claimed], ready: Callable[[Sequence[Claimed]], None], /) -> None: ...


async def at_once(emails: Sequence[Claimed], ready: Callable[[Sequence[Claimed]], None], /) -> None:
    """Nothing is missing to any of them."""
    ready(emails)


class Gate(Protocol):
    """Whether emails may leave just now."""

    def may_send(self) -> bool: ...

    @property
    def reason(self) -> str:
        """Why not, in words for people; without addresses."""

    @property
    def in_trouble(self) -> bool:
        """They may not, and nobody wanted that: another route may take them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WayOut:
    """One route as its feed sees it."""

    route: Route
    buffer: Buffer
    """What is in hand for it, and not begun."""
    gate: Gate


@dataclass(frozen=True, slots=True, kw_only=True)
class Workbench:
    """What a worker shares with its feed."""

    database: AsyncDatabase
    ways: Mapping[str, WayOut]
    """The routes that the worker serves, by name."""
    worker: str
    lease: timedelta
    most: int
    """How many emails are claimed ahead."""
    poll: timedelta
    """How long to rest at most for want of a wake-up."""
    until_idle: bool
    """Whether the worker is to stop once there is nothing to do …"""
    only_these: bool
    """… for these routes: somebody else was told to serve the others."""
    idle: Callable[[], bool]
    """Whether it has nothing in hand."""
    ready: Callable[[], bool]
    """Whether the rest of the worker can take more on."""
    holdings: Holdings
    clock: DatabaseClock
    wake_up: WakeUp
    meter: Meter
    unknown: Callable[[list[Claimed]], None]
    """Told of emails that were claimed for a route which is not served here."""
    hand_over: HandOver = at_once
    """Puts what was claimed into a buffer, as far as it may leave; first it may have to be rendered."""
    guard: Guard = unguarded
    """What every claim is put behind: whether this process may send from the database at all."""
    deployment: Callable[[], str] = lambda: ""
    """The id of the one whose database this is; empty where nobody has said so."""

    def in_hand(self) -> int:
        """Emails that were claimed and have not begun."""
        return sum(len(way.buffer) for way in self.ways.values())

    def may_send(self) -> bool:
        """Whether anything may leave at all."""
        return any(way.gate.may_send() for way in self.ways.values())


class Feed(Protocol):
    """Brings emails into the buffer."""

    stopping: asyncio.Event
    left_due: bool
    """It ended by itself, although emails are due that could not be sent here: their route is shut, or not known."""

    async def until_stopped(self) -> None:
        """Bring emails until stopped, or until there is nothing left to do."""

    def stop(self) -> None:
        """Bring no more."""

    def state(self) -> str | None:
        """What the heartbeat is to tell of where emails come from, as JSON; None where that is the database."""

    async def close(self) -> None:
        """All is settled or given back: whatever the feed still holds can go."""


async def first_of(*waits: Awaitable[object], seconds: float | None = None) -> None:
    """Wait for the first of several, or for so long."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


async def call_off(tasks: Collection[asyncio.Task[Any]]) -> None:
    """Cancel tasks, and wait until they have ended.

    Told again now and then: up to Python 3.11 `asyncio.wait_for`, which the connection pool waits with, loses a
    cancellation that comes in the same moment as what it waits for.
    """
    running = set(tasks)
    while running:
        for task in running:
            task.cancel()
        _, running = await asyncio.wait(running, timeout=CALL_AGAIN)

"""Store verbs as plans: what to ask the database, without asking it.

A verb is a generator that yields statements and is sent their rows. It knows nothing of connections, drivers, threads
or event loops, so one text serves `Outbox` and `AsyncOutbox`, both databases, and every driver a caller may bring.
The shells below carry a plan to a database; whoever calls them owns the transaction around it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")

Row = Sequence[Any]
Rows = Sequence[Row]


@dataclass(frozen=True, slots=True)
class Statement:
    """A named query of the store's `queries.sql` with its parameters."""

    name: str
    parameters: Mapping[str, Any]
    octets: bool = False
    """Its rows bring octets, to be sent as they are where a driver would have them written in hexadecimal."""


@dataclass(frozen=True, slots=True)
class Copy:
    """Rows to be streamed into one table; only databases that say `copies` are asked for it."""

    table: str
    columns: tuple[str, ...]
    rows: Iterable[Row]


@dataclass(frozen=True, slots=True)
class Documents:
    """A parameter that is a list of JSON objects, some of which are written down already."""

    each: Sequence[str | Mapping[str, Any]]


Step = Statement | Copy
Plan = Generator[Step, Rows, T]
"""Yields steps, is sent their rows, returns the verb's result."""


def ask(name: str, /, **parameters: Any) -> Statement:
    """The named query with these parameters; reads well behind `yield`."""
    return Statement(name, parameters)


def ask_octets(name: str, /, **parameters: Any) -> Statement:
    """The same for a query whose rows bring large octets."""
    return Statement(name, parameters, octets=True)


def run(plan: Plan[T], execute: Callable[[Step], Rows]) -> T:
    """Carry a plan out with a function that executes one step."""
    try:
        step = next(plan)
        while True:
            step = plan.send(execute(step))
    except StopIteration as finished:
        return finished.value  # type: ignore[no-any-return]


async def arun(plan: Plan[T], execute: Callable[[Step], Awaitable[Rows]]) -> T:
    """Carry a plan out with a coroutine function that executes one step."""
    try:
        step = next(plan)
        while True:
            step = plan.send(await execute(step))
    except StopIteration as finished:
        return finished.value  # type: ignore[no-any-return]


Course = Generator[Plan[Any], Any, T]
"""Plans one after another, each in a transaction of its own; sent each plan's result, returns the whole's."""


def follow(course: Course[T], carry: Callable[[Plan[Any]], Any]) -> T:
    """Carry out the plans of a course with a function that runs one in a transaction."""
    try:
        plan = next(course)
        while True:
            plan = course.send(carry(plan))
    except StopIteration as finished:
        return finished.value  # type: ignore[no-any-return]


async def afollow(course: Course[T], carry: Callable[[Plan[Any]], Awaitable[Any]]) -> T:
    """Carry out the plans of a course with a coroutine function that runs one in a transaction."""
    try:
        plan = next(course)
        while True:
            plan = course.send(await carry(plan))
    except StopIteration as finished:
        return finished.value  # type: ignore[no-any-return]

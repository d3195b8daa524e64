"""Store verbs as plans: what to ask the database, without asking it.

A verb is a generator that yields statements and is sent their rows. It knows nothing of connections, drivers, threads
or event loops, so one text serves `Outbox` and `AsyncOutbox`, both databases, and every driver a caller may bring.
The pair of drivers below carries a plan to a database; whoever calls them owns the transaction around it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from postroom.vocabulary import Change, EmailId

T = TypeVar("T")
Asked = TypeVar("Asked")
"""What a generator yields: a step of a plan, a plan of a course."""

Row = Sequence[Any]
Rows = Sequence[Row]


@dataclass(slots=True)  # not frozen: every email is at least one
class Statement:
    """A named query of the store with its parameters. Nobody changes one."""

    name: str
    parameters: Mapping[str, Any]
    binary: bool = False
    """Its rows come in the database's own form where a driver would have them written out: octets in hexadecimal, times
    and numbers in digits."""
    sql: str | None = None
    """The query itself, where it is somebody else's; its name then says whose."""


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


@dataclass(frozen=True, slots=True)
class News:
    """Emails that this transaction has changed, for those who listen to the database; see `listening.py`."""

    ids: Collection[EmailId]
    change: Change | None = None
    """What happened to all of them; None where their status says it."""


Step = Statement | Copy | News
Plan = Generator[Step, Rows, T]
"""Yields steps, is sent their rows, returns the verb's result."""


def ask(name: str, /, **parameters: Any) -> Statement:
    """The named query with these parameters; reads well behind `yield`."""
    return Statement(name, parameters)


def ask_binary(name: str, /, **parameters: Any) -> Statement:
    """The same for a query whose rows are large, or are read thousands of times a second."""
    return Statement(name, parameters, binary=True)


def ask_sql(sql: str, /, **parameters: Any) -> Statement:
    """A statement of one's own, in the SQL of the outbox's database, with parameters written `:name`."""
    return Statement("sql", parameters, sql=sql)


Course = Generator[Plan[Any], Any, T]
"""Plans one after another, each in a transaction of its own; sent each plan's result, returns the whole's."""


def drive(generator: Generator[Asked, Any, T], step: Callable[[Asked], Any]) -> T:
    """Carry a plan or a course to its end with a function that does what it asks for; what it returns.

    An error of a step is raised inside the generator, where it was asked for: a plan or a course decides what it can
    live with. What it does not handle comes out here. An interrupt is not its to handle. However this ends, the
    generator is closed, so that what it holds is given back now and not when somebody collects garbage.
    """
    try:
        asked = next(generator)
        while True:
            try:
                answer = step(asked)
            except Exception as error:  # noqa: BLE001  the generator decides
                asked = generator.throw(error)
            else:
                asked = generator.send(answer)
    except StopIteration as finished:
        return finished.value  # type: ignore[no-any-return]
    except BaseException:
        generator.close()
        raise


async def adrive(generator: Generator[Asked, Any, T], step: Callable[[Asked], Awaitable[Any]]) -> T:
    """The same with a coroutine function; a cancellation, like an interrupt, closes the generator unasked."""
    try:
        asked = next(generator)
        while True:
            try:
                answer = await step(asked)
            except Exception as error:  # noqa: BLE001  the generator decides
                asked = generator.throw(error)
            else:
                asked = generator.send(answer)
    except StopIteration as finished:
        return finished.value  # type: ignore[no-any-return]
    except BaseException:
        generator.close()
        raise

"""A question or an act, written once and offered twice: to threads, and to event loops.

The text of a verb is a plan, or a course where it takes several transactions; it knows nothing of either. A class of
verbs is made into a service by one of two shells: `Blocking`, whose verbs return what they found, or `Awaiting`, whose
verbs are awaited. There is no second text that could drift from the first.

What a course works out between its transactions (a thousand mails are rendered, a file is read) may take seconds. For
event loops it is done in a thread of its own, so that a loop goes on answering.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, cast, overload

from postroom.outbox import AsyncOutbox, Outbox
from postroom.outbox.base import OutboxBase
from postroom.store.plan import Course, Plan, adrive, drive

P = ParamSpec("P")
T = TypeVar("T")
U = TypeVar("U")


class Shell:
    """What verbs know of the outbox that they are about, whoever carries them out."""

    def __init__(self, outbox: OutboxBase) -> None:
        self.settings = outbox.settings
        self.rules = outbox.rules
        self._clock = outbox.clock

    def now(self) -> datetime:
        """By the outbox's clock."""
        return (self._clock() if self._clock else None) or datetime.now(UTC)


class Blocking(Shell):
    """A service for threads, over an outbox whose connections it borrows."""

    def __init__(self, outbox: Outbox) -> None:
        super().__init__(outbox)
        self.outbox = outbox


class Awaiting(Shell):
    """A service for event loops, over an outbox whose connections it borrows."""

    def __init__(self, outbox: AsyncOutbox) -> None:
        super().__init__(outbox)
        self.outbox = outbox


class Verb(Generic[P, T]):
    """One question or act. As an attribute of a shell it is a method of that shell's kind."""

    def __init__(self, text: Callable[Concatenate[Any, P], Course[T]], *, writes: bool, in_steps: bool = False) -> None:
        self._text = text
        self._writes = writes
        self._in_steps = in_steps
        self.__doc__ = text.__doc__

    @overload
    def __get__(self, shell: None, owner: type) -> Self: ...
    @overload
    def __get__(self, shell: Blocking, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, shell: Awaiting, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, shell: Blocking | Awaiting | None, owner: type) -> Any:
        if shell is None:
            return self
        return self._blocking(shell) if isinstance(shell, Blocking) else self._awaiting(shell)

    def _blocking(self, shell: Blocking) -> Callable[P, T]:
        def asked(*args: P.args, **kwargs: P.kwargs) -> T:
            return drive(self._text(shell, *args, **kwargs), partial(shell.outbox.database.run, writes=self._writes))

        return asked

    def _awaiting(self, shell: Awaiting) -> Callable[P, Coroutine[Any, Any, T]]:
        async def asked(*args: P.args, **kwargs: P.kwargs) -> T:
            run = partial(shell.outbox.database.run, writes=self._writes)
            carry = _adrive_apart if self._in_steps else adrive
            return await carry(self._text(shell, *args, **kwargs), run)

        return asked


def asks(text: Callable[Concatenate[Any, P], Plan[T]]) -> Verb[P, T]:
    """Answered in one transaction, so that the answer fits together. Changes nothing."""
    return Verb(_alone(text), writes=False)


def asks_in_steps(text: Callable[Concatenate[Any, P], Course[T]]) -> Verb[P, T]:
    """A question that is answered piece by piece. Changes nothing."""
    return Verb(text, writes=False, in_steps=True)


def does(text: Callable[Concatenate[Any, P], Plan[T]]) -> Verb[P, T]:
    """Done in one transaction, or not at all."""
    return Verb(_alone(text), writes=True)


def does_in_steps(text: Callable[Concatenate[Any, P], Course[T]]) -> Verb[P, T]:
    """Done piece by piece: stopped in the middle, what was done is done and the rest is as it was."""
    return Verb(text, writes=True, in_steps=True)


def _alone(text: Callable[Concatenate[Any, P], Plan[T]]) -> Callable[Concatenate[Any, P], Course[T]]:
    """A course of one plan."""

    def course(shell: Any, /, *args: P.args, **kwargs: P.kwargs) -> Course[T]:
        result: T = yield text(shell, *args, **kwargs)
        return result

    course.__doc__ = text.__doc__
    return course


# ---------------------------------------------------------------- beside an event loop


@dataclass(frozen=True, slots=True)
class _Finished(Generic[T]):
    """What a course returned: a `StopIteration` does not come out of a thread."""

    value: T


async def _adrive_apart(course: Course[T], step: Callable[[Plan[Any]], Awaitable[Any]]) -> T:
    """`adrive`, with what the course does between its plans in a thread of its own, also its end."""
    resume: Callable[[], Plan[Any]] = partial(next, course)
    with ThreadPoolExecutor(1, thread_name_prefix="postroom-course") as thread:
        try:
            while not isinstance(asked := await _apart(thread, resume), _Finished):
                try:
                    answer = await step(asked)
                except Exception as error:  # noqa: BLE001  the course decides
                    resume = partial(course.throw, error)
                else:
                    resume = partial(course.send, answer)
        except BaseException:
            await _apart(thread, course.close)
            raise
    return cast("T", asked.value)


async def _apart(thread: ThreadPoolExecutor, work: Callable[[], U]) -> U | _Finished[Any]:
    """Have a course go on in its thread. Who is cancelled meanwhile waits: what is at work cannot be closed."""
    done = asyncio.get_running_loop().run_in_executor(thread, _gone_on, work)
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        while not done.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([done])
        done.exception()  # it is of no interest any more
        raise


def _gone_on(work: Callable[[], U]) -> U | _Finished[Any]:
    try:
        return work()
    except StopIteration as finished:
        return _Finished(finished.value)

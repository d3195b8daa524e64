"""What every driver's caller has in common: a plan is carried out step by step, held together by a bracket.

A driver is a subclass that says how one statement is executed and which bracket the connection needs. The two shells
differ in nothing but who awaits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from typing import Any, Literal, TypeVar

from postroom.store.connections.caller import check_dialect, tell_missing_tables
from postroom.store.connections.transaction import Bracket
from postroom.store.dialect import Dialect
from postroom.store.plan import Copy, News, Plan, Rows, Step, adrive, drive
from postroom.store.queries import ParameterStyle

T = TypeVar("T")

_AS_IT_IS = nullcontext()


class SyncDriver(ABC):
    """A connection that blocks until a statement is done."""

    is_async: Literal[False] = False
    dialect_name: str
    copies: bool = False
    style: ParameterStyle

    def run(self, plan: Plan[T], dialect: Dialect, *, writes: bool = True) -> T:
        """As `SyncCaller.run` promises."""
        check_dialect(self, dialect)
        try:
            bracket = self.bracket()
            bracket = bracket if writes else bracket.reading()
            with _AS_IT_IS if bracket.is_empty else self._held_together(bracket):
                return drive(plan, lambda step: self._step(step, dialect))
        except Exception as error:
            tell_missing_tables(error)
            raise

    def _step(self, step: Step, dialect: Dialect) -> Rows:
        if isinstance(step, Copy):
            self.copy(step, dialect)
            return []
        assert not isinstance(step, News), "what changes emails runs on the outbox's own connections"
        rows: Rows = []
        for sql, parameters in dialect.speak(step, self.style):
            rows = self.execute(sql, parameters)
        return rows

    @contextmanager
    def _held_together(self, bracket: Bracket) -> Iterator[None]:
        for sql in bracket.open:
            self.execute(sql)
        try:
            yield
            for sql in bracket.close:  # inside, because a COMMIT that fails may leave its transaction open
                self.execute(sql)
        except BaseException:
            # The failure to tell is the first one: SQLite may have rolled everything back by itself already.
            with suppress(Exception):
                for sql in bracket.undo:
                    self.execute(sql)
            raise

    @abstractmethod
    def bracket(self) -> Bracket:
        """What holds a plan together, as the connection stands now."""

    @abstractmethod
    def execute(self, sql: str, parameters: Any = None) -> Rows:
        """The rows of one statement as plain sequences, whatever the caller's row factory; none when it gives none."""

    def copy(self, copy: Copy, dialect: Dialect) -> None:
        raise NotImplementedError(f"{type(self).__name__} takes no COPY; ask `copies` first")


class AsyncDriver(ABC):
    """A connection whose statements are awaited; the promises are those of `SyncDriver`."""

    is_async: Literal[True] = True
    dialect_name: str
    copies: bool = False
    style: ParameterStyle

    async def run(self, plan: Plan[T], dialect: Dialect, *, writes: bool = True) -> T:
        """As `SyncCaller.run` promises."""
        check_dialect(self, dialect)
        try:
            bracket = await self.bracket()
            bracket = bracket if writes else bracket.reading()
            async with _AS_IT_IS if bracket.is_empty else self._held_together(bracket):
                return await adrive(plan, lambda step: self._step(step, dialect))
        except Exception as error:
            tell_missing_tables(error)
            raise

    async def _step(self, step: Step, dialect: Dialect) -> Rows:
        if isinstance(step, Copy):
            await self.copy(step, dialect)
            return []
        assert not isinstance(step, News), "what changes emails runs on the outbox's own connections"
        rows: Rows = []
        for sql, parameters in dialect.speak(step, self.style):
            rows = await self.execute(sql, parameters)
        return rows

    @asynccontextmanager
    async def _held_together(self, bracket: Bracket) -> AsyncIterator[None]:
        for sql in bracket.open:
            await self.execute(sql)
        try:
            yield
            for sql in bracket.close:
                await self.execute(sql)
        except BaseException:
            with suppress(Exception):
                for sql in bracket.undo:
                    await self.execute(sql)
            raise

    @abstractmethod
    async def bracket(self) -> Bracket:
        """What holds a plan together, as the connection stands now."""

    @abstractmethod
    async def execute(self, sql: str, parameters: Any = None) -> Rows:
        """The rows of one statement, as `SyncDriver.execute` gives them."""

    async def copy(self, copy: Copy, dialect: Dialect) -> None:
        raise NotImplementedError(f"{type(self).__name__} takes no COPY; ask `copies` first")

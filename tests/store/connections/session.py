"""What the suite asks of an application, whatever it speaks to its database with."""

from __future__ import annotations

import inspect
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from postroom import AsyncOutbox, Attachment, Email, Outbox
from postroom.outbox.submission import HouseRules, Submission
from postroom.store.connections import recognise
from postroom.store.contract import Receipt
from postroom.store.dialect import Dialect
from postroom.store.order import Order
from postroom.store.plan import Plan
from tests.store.connections.database import Database, Seen

T = TypeVar("T")


class Session(ABC):
    """An application's connection, driven the way its driver's manual says; all is awaited, so one suite serves all."""

    connection: Any
    """What the application gives as `connection=`."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.token = f"{secrets.token_hex(6)}:"

    @abstractmethod
    async def open(self) -> None: ...

    @abstractmethod
    async def close(self) -> None:
        """Also in the middle of a transaction."""

    @abstractmethod
    async def begin(self) -> None:
        """Nothing where the driver begins by itself."""

    @abstractmethod
    async def insert(self, name: str) -> None:
        """A business row."""

    @abstractmethod
    async def commit(self) -> None: ...

    @abstractmethod
    async def rollback(self) -> None: ...

    @abstractmethod
    async def savepoint(self) -> None: ...

    @abstractmethod
    async def release_savepoint(self) -> None: ...

    @abstractmethod
    async def rollback_to_savepoint(self) -> None: ...

    async def use_strange_rows(self) -> None:
        """Have rows and text come back in some form of the application's own."""
        raise NotImplementedError

    async def enqueue(self, name: str, *, key: str | None = None) -> Receipt:
        """Through the public door."""
        keyed = None if key is None else self.token + key
        return await self.through("enqueue", self.email(name), key=keyed)  # type: ignore[no-any-return]

    async def through(self, verb: str, *arguments: Any, **named: Any) -> Any:
        """What a verb of the outbox gives that is handed this connection."""
        kind = AsyncOutbox if recognise(self.connection).is_async else Outbox
        outbox = kind(self.database.url)
        try:
            return await self.finish(lambda: getattr(outbox, verb)(*arguments, connection=self.connection, **named))
        finally:
            await self.finish(outbox.close)

    async def run(self, plan: Plan[T], dialect: Dialect | None = None) -> T:
        """Through the caller itself."""
        return await self.finish(lambda: recognise(self.connection).run(plan, dialect or self.database.dialect))

    async def finish(self, work: Callable[[], Any]) -> Any:
        """Do something with the connection, and await it where that is needed."""
        result = work()
        return await result if inspect.isawaitable(result) else result

    def email(self, name: str, *, attachments: tuple[Attachment, ...] = ()) -> Email:
        return Email(to="ada@example.org", subject=self.token + name, text="100 % – ok", attachments=attachments)

    def order(self, name: str, *, key: str | None = None, attachments: tuple[Attachment, ...] = ()) -> Order:
        email = self.email(name, attachments=attachments)
        return HouseRules().order(Submission(email, None if key is None else self.token + key))

    def seen(self) -> Seen:
        """What another connection sees of this session's work."""
        return self.database.seen(self.token)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of application."""

    name: str
    database: str
    session: Callable[[Database], Session]
    is_async: bool = False
    autocommits: bool = False
    """Outside `begin`, every statement is committed at once."""
    begins: bool = True
    """`begin` … `commit` make a transaction."""
    savepoints: bool = True
    row_factory: bool = False
    """The application may choose the form of rows."""
    copies: bool = False

    def __str__(self) -> str:
        return self.name

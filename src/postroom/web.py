"""The admin app for your own ASGI app: `app.mount("/postroom", postroom.web.admin(outbox))`.

Needs `pip install 'postroom[web]'`; nothing else in Postroom does.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar, cast

from postroom.errors import ConfigurationError
from postroom.outbox import AsyncOutbox, Outbox
from postroom.store.open import AsyncDatabase, Database
from postroom.store.plan import Plan

if TYPE_CHECKING:
    from fastapi import FastAPI

T = TypeVar("T")


def admin(outbox: AsyncOutbox | Outbox, *, dev: bool = False) -> FastAPI:
    """The admin app of an outbox: API, pages and sign-in. Mount it anywhere, or serve it by itself.

    Everything is behind a sign-in; `postroom user add` makes the first one. `dev=True` lets whoever sits at this
    machine in without, and is for development only. The outbox stays yours to close; a blocking `Outbox` is used from
    threads, so that no event loop waits for it.
    """
    try:
        from postroom.admin.app import build
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "postroom":
            raise
        raise ConfigurationError(
            f"the admin app needs {error.name}: install it with `pip install 'postroom[web]'`"
        ) from error
    return build(outbox if isinstance(outbox, AsyncOutbox) else _awaiting(outbox), dev=dev)


def _awaiting(outbox: Outbox) -> AsyncOutbox:
    """The same outbox for an event loop."""
    twin = AsyncOutbox.from_settings(outbox.settings, clock=outbox.clock)
    twin.rules = outbox.rules
    twin.database = cast("AsyncDatabase", InThreads(outbox.database))
    twin._inline = outbox._inline
    return twin


class InThreads:
    """An outbox's own database for an event loop: every plan is carried out whole, in a thread.

    It opens nothing, so there is nothing to close: an app that is mounted into another is never told when it ends.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.copies = database.copies
        self.dialect = database.dialect
        self.schema = database.schema

    async def run(self, plan: Plan[T], *, writes: bool = True, atomic: bool = True) -> T:
        """Carry a plan out in a transaction of its own."""
        return await asyncio.to_thread(self._database.run, plan, writes=writes, atomic=atomic)

    async def refresh(self) -> None:
        """Nothing to do: the outbox looks after its connections."""

    async def close(self) -> None:
        """Nothing to do: the outbox closes its connections."""

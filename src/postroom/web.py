"""Postroom inside your own ASGI app.

    app = FastAPI(lifespan=postroom.web.lifespan(outbox))  # the worker runs with the app, and stops with it
    app.mount("/postroom", postroom.web.admin(outbox))     # the admin app
    app.mount("/postroom", postroom.web.desk(regions))     # or one desk over several regions
    app.mount("/mail", postroom.web.unsubscribe(outbox))   # only the page behind links to unsubscribe

The admin app and that page need `pip install 'postroom[web]'`; nothing else in Postroom does, and neither does
`lifespan`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast
from weakref import WeakKeyDictionary

from postroom.duration import Duration
from postroom.errors import ConfigurationError
from postroom.extras import needed
from postroom.outbox import AsyncOutbox, Outbox
from postroom.regions import AsyncRegions, Regions
from postroom.regions.working import Outboxes, workers_of
from postroom.store.open import AsyncDatabase, Database
from postroom.store.plan import Plan

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.types import ASGIApp

T = TypeVar("T")

THREADS = 4
"""In which the database of a blocking outbox is asked at the same time."""


def lifespan(outboxes: Outboxes, *, grace: Duration = "30s") -> Callable[[Any], AbstractAsyncContextManager[None]]:
    """A lifespan for an ASGI application that runs the worker inside it, in a thread of its own.

        app = FastAPI(lifespan=postroom.web.lifespan(outbox))

    For one outbox, several, or `Regions`. When the application stops, nothing more is claimed; what is under way may
    finish within `grace`, and the rest goes back to `pending`. Where `EMAIL_WORKER_ENABLED` is false, for all or for a
    region, nothing is run there. The outboxes stay yours to close. An application that has a lifespan of its own
    enters this one within it: `async with postroom.web.lifespan(outbox)(app): yield`.
    """

    @asynccontextmanager
    async def running(app: Any) -> AsyncIterator[None]:
        async with workers_of(outboxes, grace=grace):
            yield

    return running


def admin(outbox: AsyncOutbox | Outbox, *, dev: bool = False) -> FastAPI:
    """The admin app of an outbox: API, pages and sign-in. Mount it anywhere, or serve it by itself.

    Everything is behind a sign-in; `postroom user add` makes the first one. `dev=True` lets whoever sits at this
    machine in without, and is for development only. The outbox stays yours to close; a blocking `Outbox` is used from
    threads, so that no event loop waits for it.
    """
    with needed("the admin app needs", extra="web"):
        from postroom.admin.app import build
    return build(_awaiting(outbox), dev=dev)


def desk(regions: Regions | AsyncRegions, *, dev: bool = False) -> ASGIApp:
    """One desk over all regions: `/regions` tells how each is doing, `/regions/deu1/admin` is the admin app of one.

    Who may sign in to a region is who has an account in its own database; a session there opens no other region. The
    overview shows numbers and states of all regions to whoever is signed in to at least one, and never an address. The
    regions stay yours to close; one whose database this machine does not know is shown by its name.
    """
    with needed("the admin app needs", extra="web"):
        from postroom.admin.desk import build_desk
    outboxes = _known(regions)
    return build_desk(outboxes, unknown=[name for name in regions if name not in outboxes], dev=dev)


def unsubscribe(outboxes: Outbox | AsyncOutbox | Regions | AsyncRegions) -> ASGIApp:
    """Only `/u/{token}`, the page behind the links of emails that can be unsubscribed from; for any ASGI app.

    Mounted at `/mail`, say, it is where links lead if `POSTROOM_PUBLIC_URL` ends with `/mail`. It has no cookies and no
    sign-in. The admin app and the desk have it already. What is given stays yours to close.
    """
    with needed("the page to unsubscribe at needs", extra="web"):
        from postroom.admin.unsubscribing import unsubscribe_app
        from postroom.sealing.ticket import PURPOSE
    if isinstance(outboxes, Outbox | AsyncOutbox):
        known = {outboxes.settings.region: _awaiting(outboxes)}
    else:
        known = _known(outboxes)
    if not any(each.rules.links.keyring.keys_for(PURPOSE) for each in known.values()):
        raise ConfigurationError(
            "links to unsubscribe are opened with the secret that they were sealed with, and none is known here; set "
            "POSTROOM_SECRET as it is where emails are enqueued"
        )
    return unsubscribe_app(known)


def _known(regions: Regions | AsyncRegions) -> dict[str, AsyncOutbox]:
    """The outboxes of the regions whose databases this machine knows."""
    outboxes: dict[str, AsyncOutbox] = {}
    for name in regions:
        with suppress(ConfigurationError):
            outboxes[name] = _awaiting(regions[name])
    return outboxes


def _awaiting(outbox: Outbox | AsyncOutbox) -> AsyncOutbox:
    """The same outbox for an event loop."""
    if isinstance(outbox, AsyncOutbox):
        return outbox
    twin = AsyncOutbox.from_settings(outbox.settings, clock=outbox.clock)
    twin.rules = outbox.rules
    twin.database = cast("AsyncDatabase", InThreads(outbox.database))
    twin._inline = outbox._inline
    twin._transport = outbox._transport
    return twin


class InThreads:
    """An outbox's own database for an event loop: every plan is carried out whole, in a thread.

    It opens nothing, so there is nothing to close: an app that is mounted into another is never told when it ends. The
    threads are this database's own: one that does not answer takes none of those in which others are asked.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._threads: WeakKeyDictionary[asyncio.AbstractEventLoop, ThreadPoolExecutor] = WeakKeyDictionary()
        """Those of an event loop end with it; a forked child has a loop of its own."""
        self.copies = database.copies
        self.dialect = database.dialect
        self.schema = database.schema

    async def run(self, plan: Plan[T], *, writes: bool = True, atomic: bool = True) -> T:
        """Carry a plan out in a transaction of its own."""
        run = partial(copy_context().run, self._database.run, plan, writes=writes, atomic=atomic)
        loop = asyncio.get_running_loop()
        if loop not in self._threads:
            self._threads[loop] = ThreadPoolExecutor(THREADS, thread_name_prefix="postroom-desk")
        return await loop.run_in_executor(self._threads[loop], run)

    async def refresh(self) -> None:
        """Nothing to do: the outbox looks after its connections."""

    async def close(self) -> None:
        """Nothing to do: the outbox closes its connections."""

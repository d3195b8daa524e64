"""The admin app for your own ASGI app: `app.mount("/postroom", postroom.web.admin(outbox))`.

Needs `pip install 'postroom[web]'`; nothing else in Postroom does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from postroom.errors import ConfigurationError
from postroom.outbox import AsyncOutbox, Outbox

if TYPE_CHECKING:
    from fastapi import FastAPI


def admin(outbox: AsyncOutbox | Outbox, *, dev: bool = False) -> FastAPI:
    """The admin app of an outbox: API, pages and sign-in. Mount it anywhere, or serve it by itself.

    Everything is behind a sign-in; `postroom user add` makes the first one. `dev=True` lets whoever sits at this
    machine in without, and is for development only. A blocking `Outbox` is used through connections of the app's own.
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
    twin = AsyncOutbox(outbox.database_url, tables=outbox.settings.tables, clock=outbox.clock)
    twin.settings, twin.intake = outbox.settings, outbox.intake
    return twin

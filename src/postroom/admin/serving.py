"""Serving an app over HTTP: uvicorn, with bounds where it has none."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from postroom.admin.connections import Connection

IDLE = 5
"""Seconds that a connection may stay between two requests."""

GRACEFUL = 30
"""Seconds for what is being answered when the server is asked to stop."""

_A_SECOND = 10
"""Ticks of uvicorn's clock."""


class Config(uvicorn.Config):
    """uvicorn's settings, and how many places there are."""

    def __init__(self, app: ASGIApp, *, places: int, **settings: Any) -> None:
        ours: dict[str, Any] = {
            "http": Connection,
            "ws": "none",
            "lifespan": "off",
            "log_level": "warning",
            "access_log": False,
            "server_header": False,
            "timeout_keep_alive": IDLE,
            "timeout_graceful_shutdown": GRACEFUL,
        }
        super().__init__(app, **(ours | settings))
        self.places = places


class Server(uvicorn.Server):
    """Looks after its connections, and leaves signals to whoever runs it."""

    async def on_tick(self, counter: int) -> bool:
        if counter % _A_SECOND == 0:
            now = asyncio.get_running_loop().time()
            for connection in list(self.server_state.connections):
                connection.look(now)  # type: ignore[union-attr]
        return await super().on_tick(counter)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """uvicorn would raise signals again when it has stopped, and end us with an error."""
        yield

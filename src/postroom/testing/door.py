"""Shutting the door of a server without losing whoever stands in it."""

from __future__ import annotations

import asyncio

_TURNS = 10
"""Of the event loop, until a connection that the kernel has accepted is known to us; asyncio takes about four."""


async def shut(server: asyncio.Server) -> None:
    """Take no more connections. Whoever has just come in is let in first, so that somebody can close it.

    asyncio, on Python 3.11, loses a connection that it has accepted and not yet made known when its server closes.
    """
    for door in server.sockets:
        asyncio.get_running_loop().remove_reader(door.fileno())
    for _ in range(_TURNS):
        await asyncio.sleep(0)
    server.close()

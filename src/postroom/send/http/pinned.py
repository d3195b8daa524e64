"""Connections to addresses that were looked at before, whatever the name leads to by now."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from httpcore2 import SOCKET_OPTION, AnyIOBackend, AsyncNetworkBackend, AsyncNetworkStream, ConnectError

MOST_ADDRESSES = 4
"""Of a name with more, the first are tried."""


class Pinned(AsyncNetworkBackend):
    """Connects to these addresses, one after the other; TLS still asks for the name, and so does `Host`.

    Remembers what it opened, so that it is closed also when a handshake is cut short.
    """

    def __init__(self, addresses: Sequence[str], *, seconds: float) -> None:
        """`seconds`: for all of them together."""
        self._addresses = addresses[:MOST_ADDRESSES]
        self._share = seconds / len(self._addresses)
        self._stream: AsyncNetworkStream | None = None

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[SOCKET_OPTION] | None = None,
    ) -> AsyncNetworkStream:
        """The first address that can be connected to. `host` is what was asked for, and is not looked up again."""
        for address in self._addresses[:-1]:
            try:
                async with asyncio.timeout(self._share):
                    return await self._open(address, port)
            except (ConnectError, TimeoutError):
                continue
        return await self._open(self._addresses[-1], port)

    async def _open(self, address: str, port: int) -> AsyncNetworkStream:
        self._stream = await AnyIOBackend().connect_tcp(address, port)
        return self._stream

    async def aclose(self) -> None:
        """Close what is open."""
        stream, self._stream = self._stream, None
        if stream is not None:
            await stream.aclose()

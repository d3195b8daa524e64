"""Regions for event loops."""

from __future__ import annotations

from contextlib import AsyncExitStack

from postroom.outbox import AsyncOutbox
from postroom.regions.base import RegionsBase
from postroom.store.schema import Migration


class AsyncRegions(RegionsBase[AsyncOutbox]):
    """The same for event loops: `regions["deu1"]` is an `AsyncOutbox`."""

    _make = AsyncOutbox.from_settings

    async def __aenter__(self) -> AsyncRegions:
        return self

    async def __aexit__(self, *details: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close every outbox, also where closing another one fails."""
        async with AsyncExitStack() as stack:
            for outbox in self._leave():
                stack.push_async_callback(outbox.close)

    async def migrate(self) -> dict[str, list[Migration]]:
        """Create or upgrade the tables of every region, one after the other; what was applied where."""
        return {name: await self[name].migrate() for name in self}

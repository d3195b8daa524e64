"""Regions for threads."""

from __future__ import annotations

from contextlib import ExitStack

from postroom.outbox import Outbox
from postroom.regions.base import RegionsBase
from postroom.store.schema import Migration


class Regions(RegionsBase[Outbox]):
    """The outboxes of all regions, for threads.

        regions = Regions.from_settings(of=lambda user: user.region)
        regions["deu1"].enqueue(email)
        regions.of(user).enqueue(email)

    Close it at the end, or use it as a context manager: it closes the outboxes that were asked for.
    """

    _make = Outbox.from_settings

    def __enter__(self) -> Regions:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()

    def close(self) -> None:
        """Close every outbox, also where closing another one fails."""
        with ExitStack() as stack:
            for outbox in self._leave():
                stack.callback(outbox.close)

    def migrate(self) -> dict[str, list[Migration]]:
        """Create or upgrade the tables of every region, one after the other; what was applied where."""
        return {name: self[name].migrate() for name in self}

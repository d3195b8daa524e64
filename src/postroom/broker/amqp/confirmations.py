"""Which published messages the broker has not answered for, and what becomes of each.

A broker numbers what is published on a channel, from one, and answers by number: for one message, or for all up to it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from postroom.broker.amqp.wire import Confirmed, Posting
from postroom.broker.meter import Fate


class Batch:
    """Messages that were published in one go."""

    def __init__(self, postings: Sequence[Posting]) -> None:
        self.postings = postings
        self.fates: list[Fate | None] = [None] * len(postings)
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when all were answered for, or nobody will answer any more."""
        self._open = len(postings)

    def settle(self, place: int, fate: Fate) -> None:
        if self.fates[place] is None:  # else it came back before it was confirmed
            self.fates[place] = fate
        self._open -= 1
        if not self._open:
            self.end()

    def end(self) -> None:
        if not self.over.done():
            self.over.set_result(None)


class Confirmations:
    """The messages of one channel."""

    def __init__(self) -> None:
        self._published = 0
        self._open: dict[int, tuple[Batch, int]] = {}
        """By number: the batch, and the place in it."""

    def expect(self, batch: Batch) -> None:
        """These are published next, in their order."""
        for place in range(len(batch.postings)):
            self._published += 1
            self._open[self._published] = batch, place

    def confirm(self, event: Confirmed) -> None:
        number, all_before, taken = event
        fate = Fate.CONFIRMED if taken else Fate.REFUSED
        last = min(number, self._published)  # a broker that confirms more than there is should not keep us counting
        for each in range(next(iter(self._open), last), last + 1) if all_before else (number,):
            if (found := self._open.pop(each, None)) is not None:
                batch, place = found
                batch.settle(place, fate)

    def note_return(self, key: str) -> None:
        """Its confirmation follows; in the meantime it is known that nobody takes it."""
        for batch, place in self._open.values():
            if batch.postings[place].key == key:
                batch.fates[place] = Fate.RETURNED

    def end(self) -> None:
        """Nobody will answer any more."""
        for batch, _ in self._open.values():
            batch.end()
        self._open.clear()

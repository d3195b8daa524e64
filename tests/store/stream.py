"""Reading the stream in tests. On PostgreSQL what happened is told when older transactions of the whole server have
ended, those of other tests included: so it is waited for."""

from __future__ import annotations

import time
from contextlib import suppress

from postroom import Outbox
from postroom.store import claims
from postroom.store.changes import BEGINNING, EVERYTHING, Cursor, Event, Wanted, read_events
from postroom.store.contract import Settlement

PATIENCE = 60.0


def read_until(
    outbox: Outbox, count: int, *, after: Cursor = BEGINNING, page: int = 100, wanted: Wanted = EVERYTHING
) -> list[Event]:
    """Page by page until so many events were told, and then whatever else is there."""
    end, found = time.monotonic() + PATIENCE, list[Event]()
    while True:
        piece = outbox.database.run(read_events(after, limit=page, wanted=wanted), writes=False)
        found += piece.events
        after = piece.next
        if piece.more:
            continue
        if len(found) >= count or time.monotonic() > end:
            return found
        time.sleep(0.01)


def settle_and_roll_back(outbox: Outbox, settlement: Settlement) -> None:
    """A settle whose transaction comes to nothing."""
    with suppress(ZeroDivisionError), outbox.database.transaction() as connection:
        assert outbox.database.run_on(connection, claims.settle([settlement])) == {settlement.claim.id}
        raise ZeroDivisionError


def told(outbox: Outbox, count: int) -> list[tuple[str, str, int]]:
    """What the stream says, in short."""
    return [(event.email_id, event.change.value, event.attempts) for event in read_until(outbox, count)]

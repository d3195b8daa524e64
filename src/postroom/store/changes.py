"""The stream of changes: what happened to emails, in the order in which it was committed, and without gaps.

Each statement that changes emails appends one row to the stream, in its own transaction, so that the stream tells of
what happened and of nothing else. A row holds many changes; an event is one of them, and its id says which: the number
of the transaction, the row's position, and the place within the row. Whoever has read up to an event goes on behind it.

SQLite has one writer at a time, and its rows come in the order of commits. On PostgreSQL a transaction may commit after
one that began later. So it is told of only when it and every older transaction have ended: a long one delays the
stream and leaves no gap in it.

What is not in it: that an email came in, that somebody took it in hand, and that it was pruned.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from postroom.errors import ConfigurationError
from postroom.store.contract import instant
from postroom.store.plan import Plan, Rows, ask
from postroom.vocabulary import Change, EmailId

FIRST_ROWS, MOST_ROWS = 8, 256
"""Rows of the stream per statement: few, then twice as many each time, for nobody knows how many changes each holds."""
LOOKED_AT = 2_000
"""Rows after which a page ends although few events were wanted of them."""

_CURSOR = re.compile(r"(\d{1,19})\.(\d{1,18})\.(\d{1,9})", re.ASCII)


class Cursor(NamedTuple):
    """A place in the stream; read by people as one word, and only to be given back."""

    txid: int
    position: int
    place: int

    def __str__(self) -> str:
        return f"{self.txid}.{self.position}.{self.place}"

    @classmethod
    def parse(cls, text: str) -> Cursor:
        match = _CURSOR.fullmatch(text)
        if match is None:
            raise ConfigurationError(f"{text[:60]!r} is no event's id; give one that was read from the stream")
        return cls(*map(int, match.groups()))


BEGINNING = Cursor(0, 0, 0)
"""Before the first event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One change, as the stream tells it."""

    id: Cursor
    at: datetime
    change: Change
    email_id: EmailId
    attempts: int
    """After it."""
    kind: str
    workspace: str
    route: str | None = None
    """As it is now, like channel and key; None when the email is gone."""
    channel: str | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which events somebody reads. What is None does not narrow."""

    of: frozenset[Change] | None = None
    kind: str | None = None
    workspaces: frozenset[str] | None = None
    """Only of emails in these, whatever else is asked: what somebody may see."""

    def has(self, event: Event) -> bool:
        return (
            (self.of is None or event.change in self.of)
            and (self.kind is None or event.kind == self.kind)
            and (self.workspaces is None or event.workspace in self.workspaces)
        )


EVERYTHING = Wanted()


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """A piece of the stream, oldest first."""

    events: tuple[Event, ...]
    next: Cursor
    """Read on behind it."""
    more: bool
    """There may be more already; otherwise this was the end, for now."""


def read_events(after: Cursor = BEGINNING, *, limit: int, wanted: Wanted = EVERYTHING) -> Plan[Events]:
    """The next events behind a place in the stream, at most `limit` of them.

    A place that this database does not know, because it is another one by now or an older one was put back, is read as
    the beginning: what is known already may come again, and nothing is left out.
    """
    found: list[Event] = []
    rows, looked_at = FIRST_ROWS, 0
    while True:
        page = yield ask("read_changes", txid=str(after.txid), position=after.position, limit=rows)
        for event in _behind(after, page):
            after = event.id
            if wanted.has(event):
                found.append(event)
                if len(found) == limit:
                    return (yield from _piece(found, after, more=True))
        looked_at += len(page)
        if len(page) < rows or looked_at >= LOOKED_AT:
            return (yield from _piece(found, after, more=len(page) == rows))
        rows = min(2 * rows, MOST_ROWS)


def newest_events(limit: int, *, wanted: Wanted = EVERYTHING) -> Plan[Events]:
    """The last events so far, of the last rows that are looked at; with none asked for, the end of the stream."""
    rows = yield ask("newest_changes", limit=max(1, min(limit, MOST_ROWS)))
    events = list(_behind(BEGINNING, rows[::-1]))
    found = [event for event in events if wanted.has(event)]
    end = events[-1].id if events else BEGINNING
    return (yield from _piece(found[len(found) - min(limit, len(found)) :], end, more=False))


def _piece(found: Sequence[Event], end: Cursor, *, more: bool) -> Plan[Events]:
    placed = yield from _where_they_stand(found)
    return Events(events=tuple(placed), next=end, more=more)


def _where_they_stand(events: Sequence[Event]) -> Plan[list[Event]]:
    if not events:
        return []
    rows = yield ask("named_in_changes", ids=sorted({event.email_id for event in events}))
    known: dict[str, dict[str, Any]] = {
        id: {"route": route, "channel": channel, "key": key} for id, route, channel, key in rows
    }
    return [replace(event, **known.get(event.email_id, {})) for event in events]


def _behind(after: Cursor, rows: Rows) -> Iterator[Event]:
    """The events of rows, except those that were read before. Places count from 1: 0 is before a row's first."""
    for txid, position, at, changes in rows:
        for place, (email_id, what, attempts, kind, workspace) in enumerate(json.loads(changes), 1):
            id = Cursor(int(txid), position, place)
            if id[:2] == after[:2] and place <= after.place:
                continue
            yield Event(
                id=id,
                at=instant(at),
                change=Change(what),
                email_id=EmailId(email_id),
                attempts=attempts,
                kind=kind,
                workspace=workspace,
            )

"""A dismissal deletes an email, and for a while that can be undone.

A dismissed email is out of the outbox at once: nobody lists, counts, claims or finds it, and its key stays taken. Its
row waits in a table of its own, and what it says waits where it was, until `undo` has passed; then a worker sweeps both
away. Until then it can be put back as it was, history included. One that was in doubt comes back held for a person,
whatever its policy: nobody can tell what became known of it meanwhile.

What sensitive emails say is erased when they are dismissed, so those are gone at once.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from postroom.errors import EmailNotFound
from postroom.store.contract import StoredEmail, instant
from postroom.store.ids import FIRST
from postroom.store.plan import Course, News, Plan, Rows, ask
from postroom.store.questions import stored
from postroom.vocabulary import Change, EmailId

SWEPT = 500
"""Emails that are removed in one transaction."""
BATCH = 500
"""Emails of one act that are put back in one transaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dismissed:
    """An email that can still be put back."""

    email: StoredEmail
    """As it stood."""
    at: datetime
    by: str | None
    act: str
    """Shared by those that were dismissed by one press."""
    until: datetime
    """From then on it is gone for good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Aside:
    id: EmailId
    attempts: int
    workspace: str


def set_aside(ids: Sequence[EmailId], *, actor: str | None, act: str | None) -> Plan[None]:
    """Take emails out of the outbox; without an `act`, each by an act of its own."""
    yield ask("set_aside", ids=list(ids), actor=actor, act=act)


def dismissed(*, undo: timedelta, limit: int, workspaces: Collection[str] | None = None) -> Plan[tuple[Dismissed, ...]]:
    """What can still be put back, the latest first."""
    since = yield from _since(undo)
    shown = None if workspaces is None else sorted(workspaces)
    rows = yield ask("dismissed", since=since, workspaces=shown, limit=limit)
    return tuple(
        Dismissed(email=stored(row[:-3]), at=instant(row[-3]), by=row[-2], act=row[-1], until=instant(row[-3]) + undo)
        for row in rows
    )


def reinstate(
    ids: Sequence[EmailId], *, undo: timedelta, actor: str | None, workspaces: Collection[str] | None = None
) -> Plan[list[EmailId]]:
    """Put these back into the outbox as they were, or none of them: `EmailNotFound` for one that cannot be."""
    since = yield from _since(undo)
    found = _visible((yield ask("lock_dismissed", ids=list(ids), since=since)), workspaces)
    there = {email.id for email in found}
    for id in ids:
        if id not in there:
            raise EmailNotFound(id)
    return (yield from _put_back(found, actor))


def reinstate_act(
    act: str, *, undo: timedelta, actor: str | None, workspaces: Collection[str] | None = None
) -> Course[int]:
    """Put everything back that was dismissed by one press, in batches; how many emails that were."""
    done, after = 0, FIRST
    while True:
        ids, last = yield _next_of(act, after, undo, actor, workspaces)
        done += len(ids)
        if last is None:
            return done
        after = last


def sweep_dismissed(*, undo: timedelta, limit: int = SWEPT) -> Plan[int]:
    """Remove for good what nobody can put back any more; how many emails that were."""
    rows = yield ask("dismissed_before", before=(yield from _since(undo)), limit=limit)
    if rows:
        yield ask("forget", ids=[id for (id,) in rows], events=False)
    return len(rows)


def _next_of(
    act: str, after: EmailId, undo: timedelta, actor: str | None, workspaces: Collection[str] | None
) -> Plan[tuple[list[EmailId], EmailId | None]]:
    """Put the next batch back; what it was, and the last that was looked at if there may be more."""
    since = yield from _since(undo)
    rows = yield ask("lock_dismissed_by", act=act, since=since, after=after, limit=BATCH)
    ids = yield from _put_back(_visible(rows, workspaces), actor)
    return ids, EmailId(rows[-1][0]) if len(rows) == BATCH else None


def _put_back(emails: Sequence[_Aside], actor: str | None) -> Plan[list[EmailId]]:
    ids = [email.id for email in emails]
    if not ids:
        return []
    yield ask("reinstate", ids=ids)
    yield ask("hold_doubts", ids=ids)
    yield ask("record", events=[_event(email, "reinstated", actor) for email in emails])
    yield ask("tally", changes=[{"name": "dismissed", "change": -len(ids)}])
    yield ask("note_changes", ids=ids, what=Change.REINSTATED)
    yield News(ids, Change.REINSTATED)
    return ids


def _event(email: _Aside, what: str, actor: str | None) -> dict[str, object]:
    return {
        "email_id": email.id,
        "what": what,
        "attempt": email.attempts,
        "actor": actor,
        "detail": json.dumps({"was": "dismissed"}),
    }


def _visible(rows: Rows, workspaces: Collection[str] | None) -> list[_Aside]:
    found = [_Aside(id=EmailId(id), attempts=attempts, workspace=workspace) for id, attempts, workspace in rows]
    return [email for email in found if workspaces is None or email.workspace in workspaces]


def _since(undo: timedelta) -> Plan[datetime]:
    """What was dismissed before is gone, by the store's clock."""
    [[now]] = yield ask("clock")
    return instant(now) - undo

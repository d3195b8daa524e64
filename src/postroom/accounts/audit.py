"""The audit log: who did what, or was kept from it."""

from __future__ import annotations

import json
from typing import Any

from postroom.accounts.accounts import instant
from postroom.accounts.values import AuditEntry, AuditPage
from postroom.store.plan import Plan, Row, ask

WINDOW = 100_000
"""Lines that one page looks at, at most, where it has to look at each: an application that enqueues through the API
writes many of them."""


def write_audit(actor: str, what: str, *, address: str = "", **detail: Any) -> Plan[None]:
    """One more line. Nothing removes lines."""
    yield ask("write_audit", actor=actor[:320], what=what[:200], address=address[:100], detail=detail)


def read_audit(
    *, actor: str | None = None, what: str | None = None, before: int | None = None, limit: int = 100
) -> Plan[AuditPage]:
    """The latest lines, newest first; of one actor or one act only, if asked. Paging on skips and repeats none."""
    if before is None:
        [[newest]] = yield ask("newest_audit")
        before = int(newest) + 1
    after = max(before - 1 - WINDOW, 0)
    rows = yield ask("read_audit", actor=actor, what=what, before=before, after=after, limit=limit + 1)
    entries = tuple(_entry(row) for row in rows[:limit])
    if len(rows) > limit:
        return AuditPage(entries=entries, next=entries[-1].id)
    return AuditPage(entries=entries, next=after + 1 if after else None)


def acts_on_prospect(workspace: str, prospect: str, *, limit: int) -> Plan[list[AuditEntry]]:
    """What people did to one prospect of a workspace's campaigns, or were kept from doing; the latest first."""
    rows = yield ask("acts_on_prospect", workspace=workspace, prospect=prospect, limit=limit)
    return [_entry(row) for row in rows]


def _entry(row: Row) -> AuditEntry:
    id, at, actor, what, address, detail = row
    return AuditEntry(id=int(id), at=instant(at), actor=actor, what=what, address=address, detail=json.loads(detail))

"""The audit log: who did what, or was kept from it."""

from __future__ import annotations

import json
from typing import Any

from postroom.accounts.accounts import instant
from postroom.accounts.values import AuditEntry, AuditPage
from postroom.store.plan import Plan, ask

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
    entries = tuple(
        AuditEntry(id=int(id), at=instant(at), actor=who, what=did, address=address, detail=json.loads(detail))
        for id, at, who, did, address, detail in rows[:limit]
    )
    if len(rows) > limit:
        return AuditPage(entries=entries, next=entries[-1].id)
    return AuditPage(entries=entries, next=after + 1 if after else None)

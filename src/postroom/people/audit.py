"""The audit log: who did what, or was kept from it."""

from __future__ import annotations

import json
from typing import Any

from postroom.people.accounts import instant
from postroom.people.values import AuditEntry
from postroom.store.plan import Plan, ask


def write_audit(actor: str, what: str, *, address: str = "", **detail: Any) -> Plan[None]:
    """One more line. Nothing removes lines."""
    yield ask("write_audit", actor=actor[:320], what=what[:200], address=address[:100], detail=detail)


def read_audit(*, actor: str | None = None, limit: int = 100) -> Plan[list[AuditEntry]]:
    """The latest lines, newest first."""
    rows = yield ask("read_audit", actor=actor, limit=limit)
    return [
        AuditEntry(at=instant(at), actor=who, what=what, address=address, detail=json.loads(detail))
        for at, who, what, address, detail in rows
    ]

"""Entries in words: what is stopped, why, and what an address still gets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from postroom.store.suppressions import AS_SHIPPED, Suppression, SuppressionRules
from postroom.vocabulary import SuppressionReason, SuppressionScope

REASONS: Mapping[SuppressionReason, str] = {
    SuppressionReason.HARD_BOUNCE: "the mailbox does not exist",
    SuppressionReason.COMPLAINT: "complained about mail",
    SuppressionReason.UNSUBSCRIBE: "unsubscribed",
    SuppressionReason.MANUAL: "a person said so",
    SuppressionReason.IMPORTED: "on an imported list",
}


def stops_in_words(entry: Suppression, rules: SuppressionRules = AS_SHIPPED) -> str:
    """`all mail`; `mail of workspace hotel that can be unsubscribed from`."""
    if entry.scope is SuppressionScope.ALL:
        return "all mail"
    place = f"of workspace {entry.workspace}" if entry.workspace else "without a workspace"
    of_a_kind = f"of kind {entry.kind} " if entry.scope is SuppressionScope.KIND else ""
    if entry.reason is not SuppressionReason.HARD_BOUNCE or not rules.bounces_stop_all:
        return f"mail {of_a_kind}{place} that can be unsubscribed from"
    if not of_a_kind:
        return f"all mail {place}"
    return f"mail {of_a_kind}{place}, and all mail there that cannot be unsubscribed from"


def reason_in_words(entry: Suppression) -> str:
    return REASONS[entry.reason]


def address_in_words(address: str, entries: Sequence[Suppression]) -> str:
    """What an address gets, given what is known of it."""
    if not entries:
        return f"Nothing is known of {address}: it gets all mail."
    if any(entry.scope is SuppressionScope.ALL for entry in entries):
        return f"{address} gets no mail at all."
    stopped = "; no ".join(dict.fromkeys(map(stops_in_words, entries)))
    return f"{address} gets no {stopped.removeprefix('all ').replace('no all ', 'no ')}. All other mail goes on."


def suppression_record(entry: Suppression) -> dict[str, Any]:
    """One entry for programs."""
    return {
        "id": entry.id,
        "address": entry.address,
        "reason": entry.reason.value,
        "scope": entry.scope.value,
        "workspace": entry.workspace,
        "kind": entry.kind,
        "stops": stops_in_words(entry),
        "evidence": entry.evidence,
        "email_id": entry.email_id,
        "actor": entry.actor,
        "created_at": entry.created_at.isoformat(),
        "noted_at": entry.noted_at.isoformat(),
        "expires_at": entry.expires_at.isoformat() if entry.expires_at else None,
    }

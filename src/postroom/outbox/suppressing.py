"""The verbs about those who are not to be mailed, as plans from plain values."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import TypeVar

from postroom.errors import ConfigurationError
from postroom.logs import logger
from postroom.store import suppressions as store
from postroom.store.ids import LAST
from postroom.store.plan import Plan
from postroom.store.suppressions import Stop, Suppression, SuppressionPage
from postroom.vocabulary import SuppressionReason, SuppressionScope

Word = TypeVar("Word", bound=StrEnum)


def suppress(
    address: str,
    *,
    reason: str,
    scope: str,
    workspace: str,
    kind: str,
    evidence: str,
    expires_at: datetime | None,
    by: str | None,
) -> Plan[Suppression]:
    """Have one entry, as it stands then."""
    stop = Stop(
        address=address,
        reason=known("reason", reason, SuppressionReason),
        scope=known("scope", scope, SuppressionScope),
        workspace=workspace,
        kind=kind,
        evidence=evidence,
        actor=by,
        expires_at=expires_at,
    )
    return (yield from store.suppress([stop]))[0]


def unsuppress(id: str, *, by: str | None) -> Plan[bool]:
    """Take one entry away; whether it was there. Nothing of it is left but this line in the log."""
    gone = yield from store.unsuppress([id])
    for entry in gone:
        logger.info("suppression taken away", entry=entry.id, reason=entry.reason.value, by=by)
    return bool(gone)


def page(part: str | None, *, reason: str | None, limit: int, before: str | None) -> Plan[SuppressionPage]:
    """One page of entries; one more is asked for, to see whether there are any."""
    wanted = None if reason is None else known("reason", reason, SuppressionReason)
    found = yield from store.suppressions(limit=limit + 1, before=before or LAST, part=part, reason=wanted)
    entries = tuple(found[:limit])
    return SuppressionPage(entries=entries, next=entries[-1].id if len(found) > limit else None)


def known(name: str, word: str, words: type[Word]) -> Word:
    """A word of the vocabulary."""
    try:
        return words(word)
    except ValueError:
        raise ConfigurationError(f"no {name} is called {word!r}; they are {', '.join(words)}") from None

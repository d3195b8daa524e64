"""What somebody has typed, or what a line of a list says, read as a `Stop`: who is not to be mailed, and why."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from postroom.compose.address import parse_address
from postroom.errors import InvalidEmail
from postroom.outbox.submission import LONGEST_NAME
from postroom.store.suppressions import Stop, normal_address
from postroom.vocabulary import SuppressionReason, SuppressionScope

FIELDS = ("address", "reason", "scope", "workspace", "kind", "evidence", "expires_at")
"""What can be said of an entry; all but the address may be left out."""

_FIRST, _LAST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)


def read_stop(given: Mapping[str, str], *, actor: str | None = None, after: datetime | None = None) -> Stop:
    """The stop that was meant; what cannot be meant is refused by field, with the remedy.

    A scope that is not named follows from what is: a kind, a workspace, or neither. With `after`, an end before that
    is a mistake.
    """
    stop = Stop(
        address=read_address(given.get("address", "")),
        reason=read_reason(given.get("reason") or SuppressionReason.MANUAL),
        scope=_scope(given),
        workspace=_name("workspace", given.get("workspace", "")),
        kind=_name("kind", given.get("kind", "")),
        evidence=_words(given.get("evidence", "")),
        actor=actor,
        expires_at=_moment(given.get("expires_at", "")),
    )
    if after is not None and stop.expires_at is not None and stop.expires_at <= after:
        raise InvalidEmail("expires_at", "has passed already", "give a time to come, or none: until it is removed")
    return stop


def read_address(text: str) -> str:
    """An address as entries have it: read as that of an email would be, so that the two are compared alike."""
    return normal_address(parse_address("address", text.strip()).address)


def read_reason(text: str) -> SuppressionReason:
    try:
        return SuppressionReason(text.strip().lower())
    except ValueError:
        raise InvalidEmail("reason", "is none of the reasons", f"use {_either(SuppressionReason)}") from None


def _scope(given: Mapping[str, str]) -> SuppressionScope:
    if named := given.get("scope", "").strip().lower():
        try:
            return SuppressionScope(named)
        except ValueError:
            raise InvalidEmail("scope", "is none of the scopes", f"use {_either(SuppressionScope)}") from None
    if given.get("kind"):
        return SuppressionScope.KIND
    return SuppressionScope.WORKSPACE if given.get("workspace") else SuppressionScope.ALL


def _name(field: str, text: str) -> str:
    if len(text) > LONGEST_NAME or not text.isprintable():
        raise InvalidEmail(field, f"is not a name of at most {LONGEST_NAME} printable characters", "use a shorter one")
    return text


def _words(text: str) -> str:
    """Without what no database takes and a terminal would obey; lines stay lines."""
    return "".join(each if each.isprintable() or each == "\n" else " " for each in text)


def _moment(text: str) -> datetime | None:
    """A date, or a date and time; without a zone it is UTC, as everywhere in lists and on pages."""
    if not text.strip():
        return None
    try:
        at = datetime.fromisoformat(text.strip())
        moment = (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        moment = _LAST
    if not _FIRST <= moment < _LAST:
        raise InvalidEmail("expires_at", "is no time", "write it as 2026-12-31 or 2026-12-31T18:00:00Z")
    return moment


def _either(words: type[SuppressionReason] | type[SuppressionScope]) -> str:
    *others, last = (each.value for each in words)
    return f"{', '.join(others)} or {last}"

"""A noted reply as text and back: what it says is read, what is new in it is passed over, nonsense is not believed."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from postroom.store.contract import Claim, Settlement
from postroom.store.recall import Accepted
from postroom.vocabulary import DeadReason, EmailId, LeaseToken, Status

_SMALL = 1 << 15
_MOST: dict[str, int] = {"token": 1 << 63, "attempts": 1 << 31}
"""How great a number may be that the database is told."""


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no place in a journal")


_encode = json.JSONEncoder(separators=(",", ":"), check_circular=False, default=_plain).encode


def reply_text(settlement: Settlement, version: int) -> str:
    """As it is noted. The version is said only where it is not the first."""
    text = settlement.written or _encode(settlement.as_row())
    return text if version == 1 else f'{text[:-1]},"version":{version}}}'


def claim_in(body: bytes) -> Claim:
    """The claim that a dot names. Raises whatever is wrong with it."""
    id, token = body.decode().split()
    return Claim(id=EmailId(id), token=LeaseToken(int(token)))


def claim_of(row: Any) -> Claim:
    """The claim that a reply is about. Raises whatever is wrong with it."""
    return Claim(id=EmailId(_known(row, "id", str)), token=LeaseToken(_known(row, "token", int)))


def accepted_of(row: Any, *, worker: str) -> Accepted | None:
    """A reply that says the server took it; None for another one. Raises as `settlement_of` does."""
    settlement = settlement_of(row)
    if settlement.status is not Status.SENT:
        return None
    return Accepted(settlement=settlement, version=_known(row, "version", int, optional=True) or 1, worker=worker)


def settlement_of(row: Any) -> Settlement:
    """What a reply says. Raises ValueError where it cannot be understood; members that nobody knows are passed over."""
    due_at = _known(row, "due_at", str, optional=True)
    dead_reason = _known(row, "dead_reason", str, optional=True)
    return Settlement(
        claim=claim_of(row),
        status=Status(_known(row, "status", str)),
        attempts=_known(row, "attempts", int),
        due_at=datetime.fromisoformat(due_at) if due_at else None,
        dead_reason=DeadReason(dead_reason) if dead_reason else None,
        last_error=_known(row, "last_error", str, optional=True),
        reply_code=_known(row, "reply_code", int, optional=True),
        reply=_known(row, "reply", str, optional=True),
        outcomes=_known(row, "outcomes", str, optional=True),
        doubts=_known(row, "doubts", int),
        takeovers=_known(row, "takeovers", int),
        event=_known(row, "event", str, optional=True),
        detail=_known(row, "detail", str, optional=True) or "{}",
    )


def _known(row: Any, name: str, kind: type[str] | type[int], *, optional: bool = False) -> Any:
    value = row.get(name) if optional else row[name]
    if optional and value is None:
        return None
    if type(value) is not kind or (type(value) is int and not 0 <= value < _MOST.get(name, _SMALL)):
        raise ValueError(f"{name} of a reply is not as it should be")
    return value

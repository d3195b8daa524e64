"""Signs of life: who works here, since when, how busily."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from postroom.store.contract import moment
from postroom.store.plan import Plan, ask


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSeen:
    """A worker as it last showed itself."""

    name: str
    host: str
    version: str
    started_at: datetime
    seen_at: datetime
    in_flight: int
    rate: float
    """Emails per second since its previous sign of life."""


def beat(name: str, *, host: str, version: str, in_flight: int, rate: float) -> Plan[None]:
    """Show a sign of life."""
    yield ask("heartbeat", name=name, host=host, version=version, in_flight=in_flight, rate=rate)


def retire(name: str) -> Plan[None]:
    """Sign off, and take those along who have been silent for a day."""
    yield ask("retire_worker", name=name)


def workers() -> Plan[list[WorkerSeen]]:
    """Who works here."""
    rows = yield ask("workers")
    return [
        WorkerSeen(
            name=name,
            host=host,
            version=version,
            started_at=_instant(started_at),
            seen_at=_instant(seen_at),
            in_flight=in_flight,
            rate=rate,
        )
        for name, host, version, started_at, seen_at, in_flight, rate in rows
    ]


def _instant(value: Any) -> datetime:
    instant = moment(value)
    assert instant is not None
    return instant

"""Signs of life: who works here, since when, how busily."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from postroom.store.contract import instant
from postroom.store.plan import Plan, ask


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSeen:
    """A worker as it last showed itself."""

    name: str
    role: str
    """`worker`, `scheduler` or `sender`."""
    host: str
    version: str
    started_at: datetime
    seen_at: datetime
    in_flight: int
    rate: float
    """Emails per second since its previous sign of life."""
    broker: str | None = None
    """How the broker looks from there, as JSON; None for those who need none."""


def beat(
    name: str,
    *,
    host: str,
    version: str,
    in_flight: int,
    rate: float,
    role: str = "worker",
    broker: str | None = None,
) -> Plan[None]:
    """Show a sign of life."""
    yield ask(
        "heartbeat",
        name=name,
        role=role,
        host=host,
        version=version,
        in_flight=in_flight,
        rate=rate,
        broker=broker,
    )


def retire(name: str) -> Plan[None]:
    """Sign off, and take those along who have been silent for a day."""
    yield ask("retire_worker", name=name)


def workers() -> Plan[list[WorkerSeen]]:
    """Who works here."""
    rows = yield ask("workers")
    return [
        WorkerSeen(
            name=name,
            role=role,
            host=host,
            version=version,
            started_at=instant(started_at),
            seen_at=instant(seen_at),
            in_flight=in_flight,
            rate=rate,
            broker=broker,
        )
        for name, role, host, version, started_at, seen_at, in_flight, rate, broker in rows
    ]

"""How the outbox is, at a glance: what `stats` tells and `doctor` judges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from postroom.metrics.standing import broker_record
from postroom.operate.broker import BrokerView, broker_view
from postroom.operate.dashboard import SILENT
from postroom.outbox import Outbox
from postroom.store.contract import Conservation
from postroom.store.heartbeats import WorkerSeen, workers
from postroom.store.overview import clock
from postroom.store.plan import Plan, ask


@dataclass(frozen=True, slots=True, kw_only=True)
class TransportState:
    """Whether a way out is open."""

    name: str
    state: str
    """`ok`, `throttled`, `open` (the circuit breaker's) or `paused`."""
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The outbox in numbers."""

    counts: Mapping[str, int]
    transports: tuple[TransportState, ...]
    oldest_due: datetime | None
    conservation: Conservation | None
    """None when it was not asked for: it counts every row."""
    broker: BrokerView | None = None
    """As schedulers and senders tell of it; None where there are none."""
    workers: int = 0
    """Plain ones at work, who need no broker."""

    @classmethod
    def of(cls, outbox: Outbox, *, conservation: bool) -> Overview:
        alive = outbox.database.run(_alive(), writes=False)
        return cls(
            counts=outbox.counts(),
            transports=outbox.database.run(transport_states(), writes=False),
            oldest_due=outbox.oldest_due(),
            broker=broker_view(alive),
            workers=sum(worker.role == "worker" and well for worker, well in alive),
            conservation=outbox.conservation() if conservation else None,
        )

    def as_record(self) -> dict[str, Any]:
        """In JSON's types."""
        record: dict[str, Any] = {
            "counts": dict(self.counts),
            "transports": [asdict(transport) for transport in self.transports],
            "oldest_due": self.oldest_due.isoformat().replace("+00:00", "Z") if self.oldest_due else None,
            "broker": broker_record(self.broker),
        }
        if (sums := self.conservation) is not None:
            record["conservation"] = {
                "enqueued": sums.enqueued,
                "accounted": sums.accounted,
                "holds": sums.holds,
                "counts": dict(sums.counts),
            }
        return record


def transport_states() -> Plan[tuple[TransportState, ...]]:
    """Every way out that workers have used."""
    rows = yield ask("transports")
    return tuple(TransportState(name=row[0], state=row[2], reason=row[3]) for row in rows)


def _alive() -> Plan[list[tuple[WorkerSeen, bool]]]:
    """Who has signed on, and who of them was heard of lately."""
    now = yield from clock()
    seen = yield from workers()
    return [(each, now - each.seen_at <= SILENT) for each in seen]


def sum_in_words(sums: Conservation) -> str:
    """The conservation sum as one line."""
    parts = " + ".join(f"{count:,} {status}" for status, count in sums.counts.items() if count) or "0"
    sign = "=" if sums.holds else "≠"
    return f"{sums.enqueued:,} enqueued {sign} {parts}"

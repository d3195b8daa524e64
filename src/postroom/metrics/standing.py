"""How the outbox stands, in numbers: asked once, in one transaction, for Prometheus and for the terminal alike.

It costs about the same however many emails have been sent: unfinished ones are counted in place, everything else was
tallied along the way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from postroom.metrics.catalogue import TOTALS
from postroom.operate.broker import BrokerView, broker_view
from postroom.operate.dashboard import SILENT
from postroom.store.heartbeats import WorkerSeen, workers
from postroom.store.overview import clock
from postroom.store.plan import Plan, ask
from postroom.store.questions import counts, due, oldest_due
from postroom.vocabulary import Status
from postroom.work.breakers import KnownRoute, known_routes


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The outbox at one moment."""

    at: datetime
    """By the database's clock."""
    counts: Mapping[str, int]
    """Emails by status."""
    totals: Mapping[str, int]
    """What has happened since the beginning, by the names of `TOTALS`; never less than before."""
    due: int
    """How many emails are due."""
    oldest_due: datetime | None
    """Since when the oldest due email waits."""
    workers: tuple[WorkerSeen, ...]
    """The one heard of last comes first; schedulers and senders are among them."""
    transports: tuple[KnownRoute, ...]

    @property
    def oldest_due_seconds(self) -> float:
        return 0.0 if self.oldest_due is None else max((self.at - self.oldest_due).total_seconds(), 0.0)

    def silence(self, worker: WorkerSeen) -> float:
        """Seconds since a worker was heard of."""
        return max((self.at - worker.seen_at).total_seconds(), 0.0)

    @property
    def alive(self) -> tuple[WorkerSeen, ...]:
        """The workers that were heard of lately."""
        return tuple(each for each in self.workers if self.silence(each) <= SILENT.total_seconds())

    @property
    def broker(self) -> BrokerView | None:
        """As schedulers and senders tell of it; None where there are none."""
        return broker_view([(each, each in self.alive) for each in self.workers])

    def as_record(self) -> dict[str, Any]:
        """In JSON's types."""
        return {
            "at": _text(self.at),
            "counts": dict(self.counts),
            "totals": dict(self.totals),
            "due": self.due,
            "oldest_due": _text(self.oldest_due),
            "workers": {"alive": len(self.alive), "silent": len(self.workers) - len(self.alive)},
            "transports": [
                {"name": each.name, "state": each.breaker.state.value, "reason": each.breaker.reason}
                for each in self.transports
            ],
            "broker": broker_record(self.broker),
        }


def standing() -> Plan[Standing]:
    """Ask for all of it. Changes nothing."""
    now = yield from clock()
    numbers = yield from counts()
    happened = {name: int(total) for name, total in (yield ask("totals"))}
    waiting = yield from due()
    oldest = yield from oldest_due()
    seen = yield from workers()
    ways_out = yield from known_routes()
    return Standing(
        at=now,
        counts={status.value: numbers[status] for status in Status},
        totals={name: happened.get(name, 0) for name in TOTALS},
        due=waiting,
        oldest_due=oldest,
        workers=tuple(sorted(seen, key=lambda each: each.seen_at, reverse=True)),
        transports=tuple(ways_out),
    )


def broker_record(broker: BrokerView | None) -> dict[str, Any] | None:
    """The broker in JSON's types."""
    if broker is None:
        return None
    return {
        "name": broker.name,
        "connected": broker.connected,
        "since": _text(broker.since),
        "reason": broker.reason,
        "blocked": broker.blocked,
        "refused": broker.refused,
        "waiting": broker.waiting,
        "depths": dict(broker.depths),
        "dead_letters": dict(broker.dead_letters),
        "schedulers": broker.schedulers,
        "senders": broker.senders,
        "away": broker.away,
    }


def _text(instant: datetime | None) -> str | None:
    return None if instant is None else instant.isoformat().replace("+00:00", "Z")

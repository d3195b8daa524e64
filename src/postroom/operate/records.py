"""The state of the house in JSON's types, for programs that read `stats`."""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime
from typing import Any

from postroom.operate.broker import BrokerView
from postroom.operate.values import House, RouteView, Standing
from postroom.store.contract import Conservation


def house_record(house: House) -> dict[str, Any]:
    """The same fields for one look and for each of many."""
    alive = len(house.alive)
    return {
        "at": _text(house.at),
        "sentence": house.sentence,
        "tone": house.tone,
        "counts": dict(house.counts),
        "oldest_due": _text(house.oldest_due),
        "workers": {"alive": alive, "silent": len(house.workers) - alive},
        "transports": [route_record(route) for route in house.routes],
        "broker": _broker_record(house.broker),
    }


def standing_record(standing: Standing) -> dict[str, Any]:
    """The house, and what has ever happened in it."""
    return house_record(standing) | {"totals": dict(standing.totals), "due": standing.due}


def sum_record(sums: Conservation) -> dict[str, Any]:
    """Both sides of the promise that nothing is lost."""
    return {
        "enqueued": sums.enqueued,
        "accounted": sums.accounted,
        "holds": sums.holds,
        "counts": dict(sums.counts),
    }


def route_record(route: RouteView) -> dict[str, Any]:
    """A way out, with everything that is known of it."""
    told = {field.name: getattr(route, field.name) for field in fields(route)}
    return {name: _text(value) if isinstance(value, datetime) else value for name, value in told.items()}


def _broker_record(broker: BrokerView | None) -> dict[str, Any] | None:
    if broker is None:
        return None
    return {
        "name": broker.name,
        "state": broker.state,
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

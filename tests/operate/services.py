"""Schedulers and senders that show a sign of life, without a broker or a process."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from postroom import Outbox
from postroom.store import heartbeats

SINCE = datetime(2026, 5, 17, 2, 14, tzinfo=UTC)


def told(**words: Any) -> str:
    """What a heartbeat says of a broker that is there; `words` say otherwise."""
    there = {"name": "rabbit:5672/", "connected": True, "since": SINCE.isoformat(), "reason": ""}
    return json.dumps(there | words)


def beat(outbox: Outbox, name: str, *, role: str, broker: str | None = None, **more: Any) -> None:
    """Of somebody who talks to a broker; unless told otherwise, it is there."""
    numbers = {"in_flight": 0, "rate": 0.0} | more
    outbox.database.run(
        heartbeats.beat(name, role=role, host="h", version="1", broker=told() if broker is None else broker, **numbers)
    )

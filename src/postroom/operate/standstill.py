"""Whether mail leaves by a route at all, for whoever waits for one. It names no server: it is told before a sign-in."""

from __future__ import annotations

from postroom.operate.broker import SENDER
from postroom.operate.values import SILENT, WORKER
from postroom.operate.ways_out import Declared, routes
from postroom.store.heartbeats import workers
from postroom.store.overview import clock
from postroom.store.plan import Plan
from postroom.work.breaker import BreakerState

_STANDS = {
    BreakerState.PAUSED: "its way out is paused",
    BreakerState.OPEN: "its way out cannot be reached",
}


def standstill(route: str, declared: Declared) -> Plan[str]:
    """Why no email leaves by this route now, in a few words; empty when they do, or leave by its fallback."""
    now = yield from clock()
    at_work = yield from workers()
    if not any(now - each.seen_at <= SILENT and each.role in (WORKER, SENDER) for each in at_work):
        return "no worker is running"
    # Asked as somebody who sees no workspace: what waits is not counted.
    ways_out = {each.name: each for each in (yield from routes(declared, workspaces=frozenset()))}
    found = ways_out.get(route)
    if found is None or found.state not in _STANDS:
        return ""
    other = ways_out.get(found.fallback or "")
    covered = found.falls_back and other is not None and other.state is BreakerState.OK
    return "" if covered else _STANDS[found.state]

"""How the house stands, asked once, in one transaction, so that it fits together.

It costs about the same however many emails have been sent: unfinished ones are counted in place, everything else was
tallied along the way.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from postroom.operate.broker import broker_view, state_of, waiting_in
from postroom.operate.sentences import house_in_words
from postroom.operate.values import HAPPENINGS, House, Standing, WorkerView, Workspaces
from postroom.operate.ways_out import Declared, routes
from postroom.store.heartbeats import workers
from postroom.store.overview import clock, counts_within, oldest_due_within
from postroom.store.plan import Plan, ask
from postroom.store.questions import counts, due, oldest_due

WITHIN = 2_000
"""Emails of a status that are looked at to count those of some workspaces, the newest ones."""


def house(declared: Declared, *, workspaces: Workspaces = None) -> Plan[House]:
    """The house as far as somebody may see it."""
    return House(**(yield from state_of_house(declared, workspaces=workspaces)))


def standing(declared: Declared) -> Plan[Standing]:
    """The house, and what has ever happened in it."""
    state = yield from state_of_house(declared)
    happened = {name: int(total) for name, total in (yield ask("totals"))}
    waiting = yield from due()
    return Standing(**state, totals={name: happened.get(name, 0) for name in HAPPENINGS}, due=waiting)


def state_of_house(declared: Declared, *, workspaces: Workspaces = None) -> Plan[dict[str, Any]]:
    """The fields of `House`."""
    now = yield from clock()
    numbers, capped = yield from counted(workspaces=workspaces)
    oldest = yield from (oldest_due() if workspaces is None else oldest_due_within(sorted(workspaces), at_most=WITHIN))
    at_work = yield from _workers(now)
    ways_out = yield from routes(declared, workspaces=workspaces)
    broker = broker_view([(worker.seen, worker.alive) for worker in at_work])
    sentence, tone = house_in_words(
        numbers, routes=ways_out, workers=at_work, broker=broker, oldest_due=oldest, now=now
    )
    return {
        "at": now,
        "sentence": sentence,
        "tone": tone,
        "counts": numbers,
        "counts_capped": capped,
        "oldest_due": oldest,
        "workers": at_work,
        "broker": broker,
        "broker_sentence": state_of(broker, waiting=waiting_in(numbers), now=now) if broker is not None else "",
        "routes": ways_out,
    }


def counted(*, workspaces: Workspaces = None) -> Plan[tuple[dict[str, int], dict[str, bool]]]:
    """How many emails there are by status, and where there are at least that many: for tabs and gauges."""
    if workspaces is None:
        numbers = yield from counts()
        return numbers, dict.fromkeys(numbers, False)
    found = yield from counts_within(sorted(workspaces), at_most=WITHIN)
    return {name: count for name, (count, _) in found.items()}, {name: more for name, (_, more) in found.items()}


def _workers(now: datetime) -> Plan[tuple[WorkerView, ...]]:
    found = yield from workers()
    return tuple(WorkerView(seen=each, silence=now - each.seen_at) for each in found)

"""The dashboard, and one email in full: everything asked in one transaction, so that it fits together."""

from __future__ import annotations

from datetime import datetime, timedelta

from postroom.errors import EmailNotFound
from postroom.operate.attempts import attempts_of, rows_of
from postroom.operate.broker import broker_view, state_of, waiting_in
from postroom.operate.causes import grouped
from postroom.operate.charts import HOUR, MINUTE, floor, series
from postroom.operate.outlook import outlook
from postroom.operate.sentences import house, worst
from postroom.operate.values import Dashboard, EmailView, Series, TransportView, WorkerView, Workspaces
from postroom.store.acts import APPLIES_TO
from postroom.store.contract import StoredEmail
from postroom.store.heartbeats import workers
from postroom.store.overview import clock, counts_within, failures, oldest_due_within, tallies_by_hour, versions
from postroom.store.plan import Plan
from postroom.store.questions import counts, get, oldest_due, tallies_since
from postroom.vocabulary import EmailId, Status
from postroom.work.breaker import BreakerState
from postroom.work.breakers import known_routes

SILENT = timedelta(seconds=30)
"""A worker not heard of for longer is taken for dead; workers show themselves every five seconds."""

FAILURES = 5_000
"""Dead emails that causes are told from, the newest ones."""

WITHIN = 2_000
"""Emails of a status that are looked at to count those of some workspaces, the newest ones."""


def dashboard(*, workspaces: Workspaces = None) -> Plan[Dashboard]:
    """The state of the house, as far as somebody may see it."""
    now = yield from clock()
    visible = None if workspaces is None else sorted(workspaces)
    numbers, capped = yield from counted(workspaces=workspaces)
    oldest = yield from (oldest_due() if visible is None else oldest_due_within(visible, at_most=WITHIN))
    last_hour, last_day = (yield from _charts(now)) if visible is None else (None, None)
    at_work = yield from _workers(now)
    ways_out = yield from _transports()
    causes = yield from failures(at_most=FAILURES, workspaces=visible)
    broker = broker_view([(worker.seen, worker.alive) for worker in at_work])
    sentence, tone = house(numbers, transports=ways_out, workers=at_work, broker=broker, oldest_due=oldest, now=now)
    return Dashboard(
        at=now,
        sentence=sentence,
        tone=tone,
        counts=numbers,
        counts_capped=capped,
        oldest_due=oldest,
        last_hour=last_hour,
        last_day=last_day,
        workers=at_work,
        broker=broker,
        broker_sentence=state_of(broker, waiting=waiting_in(numbers), now=now) if broker is not None else "",
        transports=ways_out,
        failures=grouped(causes),
        failures_capped=capped[Status.DEAD] or numbers[Status.DEAD] > FAILURES,
    )


def counted(*, workspaces: Workspaces = None) -> Plan[tuple[dict[str, int], dict[str, bool]]]:
    """How many emails there are by status, and where there are at least that many: for tabs and gauges."""
    if workspaces is None:
        numbers = yield from counts()
        return numbers, dict.fromkeys(numbers, False)
    found = yield from counts_within(sorted(workspaces), at_most=WITHIN)
    return {name: count for name, (count, _) in found.items()}, {name: more for name, (_, more) in found.items()}


def _charts(now: datetime) -> Plan[tuple[Series, Series]]:
    minutes = yield from tallies_since(floor(now, MINUTE) - HOUR)
    hours = yield from tallies_by_hour(floor(now, HOUR) - 24 * HOUR)
    return (
        series(minutes, now=now, step=MINUTE, steps=60),
        series(hours, now=now, step=HOUR, steps=24),
    )


def _workers(now: datetime) -> Plan[tuple[WorkerView, ...]]:
    found = yield from workers()
    return tuple(WorkerView(seen=each, alive=now - each.seen_at <= SILENT) for each in found)


def _transports() -> Plan[tuple[TransportView, ...]]:
    found = yield from known_routes()
    return tuple(
        TransportView(
            name=each.name,
            state=each.breaker.state,
            reason=each.breaker.reason,
            since=each.breaker.since,
            next_probe_at=each.breaker.next_probe_at,
            held=each.breaker.state is BreakerState.PAUSED and each.breaker.next_probe_at is None,
        )
        for each in found
    )


def whole_email(id: EmailId, *, workspaces: Workspaces = None) -> Plan[EmailView]:
    """One email with everything there is to know about it but its content; `EmailNotFound` if it may not be seen."""
    email = yield from visible_email(id, workspaces)
    now = yield from clock()
    ways_out = yield from _transports()
    known = yield from versions(id)
    attempts = attempts_of(email, known)
    return EmailView(
        at=now,
        email=email,
        sentence=outlook(email, obstacle=worst(ways_out, now), now=now),
        attempts=attempts,
        recipients=email.recipients,
        rows=rows_of(email, attempts),
        versions=known,
        acts=tuple(act for act, statuses in APPLIES_TO.items() if email.status in statuses),
    )


def visible_email(id: EmailId, workspaces: Workspaces) -> Plan[StoredEmail]:
    """One email, provided that it may be seen: one of another workspace is as if it were not there."""
    email = yield from get(id)
    if workspaces is not None and email.workspace not in workspaces:
        raise EmailNotFound(id)
    return email

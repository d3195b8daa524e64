"""The state of the house, and of one email, in a sentence each. Pure: time is an argument."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from postroom.operate.broker import SCHEDULER, SENDER, BrokerView, emails_wait, hitch, waiting_in
from postroom.operate.values import WORKER, RouteView, WorkerView
from postroom.operate.wording import clock_time, count_of, span
from postroom.store.contract import Conservation
from postroom.vocabulary import Status
from postroom.work.breaker import BreakerState

LATE = timedelta(minutes=1)
"""An email that has been due for longer is late."""

_NO_CONNECTION = "no connection while connecting: "
"""How `settle` begins to tell of a server that is not there, which «cannot be reached» says as well."""

_WORST_FIRST = (BreakerState.PAUSED, BreakerState.OPEN, BreakerState.THROTTLED)


def house_in_words(
    counts: Mapping[str, int],
    *,
    routes: Sequence[RouteView],
    workers: Sequence[WorkerView],
    broker: BrokerView | None = None,
    oldest_due: datetime | None,
    now: datetime,
) -> tuple[str, str]:
    """How the house is, in one sentence, and its tone: `well`, `attention` or `trouble`."""
    waiting = waiting_in(counts)
    if oldest_due is not None and broker is None and nobody_sends(workers):
        # First, for without a worker nobody finds out either that a route is well again.
        return f"{_lateness(workers, now - oldest_due)} — {emails_wait(waiting)}", "trouble"
    covered = [route for route in routes if _is_covered(route, routes)]
    ill = worst([route for route in routes if route not in covered], now)
    if ill is not None and ill.state is not BreakerState.THROTTLED:
        return f"{trouble(ill, now)} — {_held_up(ill, waiting)}", "trouble"
    if broker is not None and (told := hitch(broker, counts, direct=_works_directly(workers), now=now)):
        return told
    if oldest_due is not None and now - oldest_due > LATE:
        return f"{_lateness(workers, now - oldest_due)} — {emails_wait(waiting)}", "trouble"
    if ill is not None:
        return f"{trouble(ill, now)} — {_held_up(ill, waiting)}", "attention"
    if covered:
        return f"{trouble(covered[0], now)} — its due emails leave by {covered[0].fallback}", "attention"
    return _moving(counts, waiting)


def worst(routes: Sequence[RouteView], now: datetime) -> RouteView | None:
    """The route that stands most in the way; None when none does."""
    for state in _WORST_FIRST:
        for route in routes:
            if route.state is state and not _rest_is_over(route, now):
                return route
    return None


def _is_covered(route: RouteView, routes: Sequence[RouteView]) -> bool:
    """It is in trouble, and another one that is well takes its emails."""
    return route.falls_back and any(each.name == route.fallback and each.state is BreakerState.OK for each in routes)


def _held_up(route: RouteView, waiting: int) -> str:
    """How many emails wait for it, or, where that is not told, in all."""
    return emails_wait(waiting if route.waiting is None else route.waiting)


def _rest_is_over(route: RouteView, now: datetime) -> bool:
    """A throttled route sends again by itself when its time has come."""
    throttled = route.state is BreakerState.THROTTLED
    return throttled and route.next_probe_at is not None and route.next_probe_at <= now


def trouble(route: RouteView, now: datetime) -> str:
    """What keeps a route from sending, in a sentence."""
    since = f" since {clock_time(route.since, now)}" if route.since else ""
    if route.held:
        return f"{route.title} was paused by a person{since}: {route.cause}"
    if route.state is BreakerState.THROTTLED:
        until = f" until {clock_time(route.next_probe_at, now)}" if route.next_probe_at else ""
        return f"{route.title} asks for a rest{until}"
    if "(AUTH)" in route.reason:
        return f"{route.title} refuses our password{since}"
    if route.state is BreakerState.OPEN:
        return f"{route.title} cannot be reached{since}: {route.cause.removeprefix(_NO_CONNECTION)}"
    return f"{route.title} is paused{since}: {route.cause}"


def nobody_sends(workers: Sequence[WorkerView]) -> bool:
    """Nobody who sends has shown a sign of life lately."""
    return not any(worker.alive and worker.seen.role in (WORKER, SENDER) for worker in workers)


def _works_directly(workers: Sequence[WorkerView]) -> bool:
    return any(worker.alive and worker.seen.role == WORKER for worker in workers)


def _lateness(workers: Sequence[WorkerView], age: timedelta) -> str:
    at_work = {worker.seen.role for worker in workers if worker.alive}
    if nobody_sends(workers):
        return f"No {'sender' if at_work else 'worker'} is running, and mail has been due for {span(age)}"
    if not at_work & {WORKER, SCHEDULER}:
        return f"No scheduler is running, and mail has been due for {span(age)}"
    return f"Mail is late: the oldest due email has waited for {span(age)}"


def _moving(counts: Mapping[str, int], waiting: int) -> tuple[str, str]:
    start = "All mail is moving" if waiting or counts.get(Status.SENDING) else "All mail has gone out"
    if not any(counts.values()):
        start = "No mail yet"
    dead, doubts = counts.get(Status.DEAD, 0), counts.get(Status.IN_DOUBT, 0)
    notes = [
        f"{count_of(dead, 'email')} {'was' if dead == 1 else 'were'} given up and need{_s(dead)} a person"
        if dead
        else "",
        f"{count_of(doubts, 'email')} {'is' if doubts == 1 else 'are'} in doubt" if doubts else "",
    ]
    told = [note for note in notes if note]
    return "; ".join([start, *told]), "attention" if told else "well"


def sum_in_words(sums: Conservation) -> str:
    """The conservation sum as one line."""
    parts = " + ".join(f"{count:,} {status}" for status, count in sums.counts.items() if count) or "0"
    sign = "=" if sums.holds else "≠"
    return f"{sums.enqueued:,} enqueued {sign} {parts}"


def _s(count: int) -> str:
    """The ending of a verb: one email waits, two wait."""
    return "s" if count == 1 else ""

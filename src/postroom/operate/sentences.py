"""The state of the house, and of one email, in a sentence each. Pure: time is an argument."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from postroom.operate.broker import SCHEDULER, SENDER, BrokerView, emails_wait, hitch, waiting_in
from postroom.operate.values import TransportView, WorkerView
from postroom.operate.wording import clock_time, count_of, span
from postroom.vocabulary import Status
from postroom.work.breaker import BreakerState

LATE = timedelta(minutes=1)
"""An email that has been due for longer is late."""

_NO_CONNECTION = "no connection while connecting: "
"""How `settle` begins to tell of a server that is not there, which «cannot be reached» says as well."""

_WORST_FIRST = (BreakerState.PAUSED, BreakerState.OPEN, BreakerState.THROTTLED)


def house(
    counts: Mapping[str, int],
    *,
    transports: Sequence[TransportView],
    workers: Sequence[WorkerView],
    broker: BrokerView | None = None,
    oldest_due: datetime | None,
    now: datetime,
) -> tuple[str, str]:
    """How the house is, in one sentence, and its tone: `well`, `attention` or `trouble`."""
    waiting = waiting_in(counts)
    ill = worst(transports, now)
    if ill is not None and ill.state is not BreakerState.THROTTLED:
        return f"{_trouble(ill, now)} — {emails_wait(waiting)}", "trouble"
    if broker is not None and (told := hitch(broker, counts, direct=_works_directly(workers), now=now)):
        return told
    if oldest_due is not None and now - oldest_due > LATE:
        return f"{_lateness(workers, now - oldest_due)} — {emails_wait(waiting)}", "trouble"
    if ill is not None:
        return f"{_trouble(ill, now)} — {emails_wait(waiting)}", "attention"
    return _moving(counts, waiting)


def worst(transports: Sequence[TransportView], now: datetime) -> TransportView | None:
    """The transport that stands most in the way; None when none does."""
    for state in _WORST_FIRST:
        for transport in transports:
            if transport.state is state and not _rest_is_over(transport, now):
                return transport
    return None


def _rest_is_over(transport: TransportView, now: datetime) -> bool:
    """A throttled transport sends again by itself when its time has come."""
    throttled = transport.state is BreakerState.THROTTLED
    return throttled and transport.next_probe_at is not None and transport.next_probe_at <= now


def _trouble(transport: TransportView, now: datetime) -> str:
    since = f" since {clock_time(transport.since, now)}" if transport.since else ""
    if transport.held:
        return f"{transport.name} was paused by a person{since}: {transport.cause}"
    if transport.state is BreakerState.THROTTLED:
        until = f" until {clock_time(transport.next_probe_at, now)}" if transport.next_probe_at else ""
        return f"{transport.name} asks for a rest{until}"
    if "(AUTH)" in transport.reason:
        return f"{transport.name} refuses our password{since}"
    if transport.state is BreakerState.OPEN:
        return f"{transport.name} cannot be reached{since}: {transport.cause.removeprefix(_NO_CONNECTION)}"
    return f"{transport.name} is paused{since}: {transport.cause}"


def _works_directly(workers: Sequence[WorkerView]) -> bool:
    return any(worker.alive and worker.seen.role == "worker" for worker in workers)


def _lateness(workers: Sequence[WorkerView], age: timedelta) -> str:
    at_work = {worker.seen.role for worker in workers if worker.alive}
    if not at_work & {"worker", SENDER}:
        return f"No {'sender' if at_work else 'worker'} is running, and mail has been due for {span(age)}"
    if not at_work & {"worker", SCHEDULER}:
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


def _s(count: int) -> str:
    """The ending of a verb: one email waits, two wait."""
    return "s" if count == 1 else ""

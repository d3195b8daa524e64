"""The state of the house, and of one email, in a sentence each. Pure: time is an argument."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from postroom.claim.breaker import BreakerState
from postroom.desk.values import TransportView, WorkerView
from postroom.desk.wording import clock_time, count_of, span
from postroom.vocabulary import Status

LATE = timedelta(minutes=1)
"""An email that has been due for longer is late."""

_WAITING = (Status.PENDING, Status.QUEUED, Status.RETRYING)
_WORST_FIRST = (BreakerState.PAUSED, BreakerState.OPEN, BreakerState.THROTTLED)


def house(
    counts: Mapping[str, int],
    *,
    transports: Sequence[TransportView],
    workers: Sequence[WorkerView],
    oldest_due: datetime | None,
    now: datetime,
) -> tuple[str, str]:
    """How the house is, in one sentence, and its tone: `well`, `attention` or `trouble`."""
    waiting = sum(counts.get(status, 0) for status in _WAITING)
    ill = worst(transports, now)
    if ill is not None and ill.state is not BreakerState.THROTTLED:
        return f"{_trouble(ill, now)} — {count_of(waiting, 'email')} wait{_s(waiting)}", "trouble"
    if oldest_due is not None and now - oldest_due > LATE:
        return f"{_lateness(workers, now - oldest_due)} — {count_of(waiting, 'email')} wait{_s(waiting)}", "trouble"
    if ill is not None:
        return f"{_trouble(ill, now)} — {count_of(waiting, 'email')} wait{_s(waiting)}", "attention"
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
        return f"{transport.name} was paused by a person{since}: {transport.reason}"
    if transport.state is BreakerState.THROTTLED:
        until = f" until {clock_time(transport.next_probe_at, now)}" if transport.next_probe_at else ""
        return f"{transport.name} asks for a rest{until}"
    if "(AUTH)" in transport.reason:
        return f"{transport.name} refuses our password{since}"
    if transport.state is BreakerState.OPEN:
        return f"{transport.name} cannot be reached{since}: {transport.reason}"
    return f"{transport.name} is paused{since}: {transport.reason}"


def _lateness(workers: Sequence[WorkerView], age: timedelta) -> str:
    if not any(worker.alive for worker in workers):
        return f"No worker is running, and mail has been due for {span(age)}"
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

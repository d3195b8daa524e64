"""What is known of a transport, shared by all workers: its breaker. How far ahead its rate is reserved stands in the
same row, and is the business of `claim/allowance.py`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from postroom.settle.verdict import TransportVerdict
from postroom.store.contract import moment
from postroom.store.plan import Plan, ask
from postroom.work.breaker import Breaker, BreakerState


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownTransport:
    """A transport and how it is doing."""

    name: str
    breaker: Breaker


def register(name: str) -> Plan[None]:
    """Make a transport known before anything happens to it; one that is known already stays as it is."""
    yield from _lock(name)


def learn(name: str, verdict: TransportVerdict | None, *, jitter: float, probe: bool = False) -> Plan[Breaker]:
    """Tell all workers what an attempt or a probe said about the transport; how it stands now."""
    breaker, _arrival, now = yield from _lock(name)
    changed = breaker.after(verdict, now, jitter, probe=probe)
    return (yield from _keep(name, breaker, changed))


def take_probe(name: str, *, jitter: float) -> Plan[bool]:
    """Whether this caller is the one to look if the transport is well again; at most one at a time is."""
    breaker, _arrival, now = yield from _lock(name)
    if not breaker.should_probe(now):
        return False
    yield from _keep(name, breaker, breaker.probing(now, jitter))
    return True


def pause(name: str, reason: str) -> Plan[Breaker]:
    """Stop a transport until a person resumes it."""
    breaker, _arrival, now = yield from _lock(name)
    return (yield from _keep(name, breaker, breaker.paused_by_person(reason, now)))


def resume(name: str) -> Plan[Breaker]:
    """A person says that all is well."""
    breaker, _arrival, _now = yield from _lock(name)
    changed = yield from _keep(name, breaker, breaker.resumed())
    yield ask("wake")
    return changed


def known_transports() -> Plan[list[KnownTransport]]:
    """Every transport that a worker has used."""
    rows = yield ask("transports")
    return [KnownTransport(name=name, breaker=_breaker(*rest)) for name, *rest in rows]


def _lock(name: str) -> Plan[tuple[Breaker, int, datetime]]:
    [[*columns, arrival, now]] = yield ask("lock_transport", name=name)
    instant = moment(now)
    assert instant is not None
    return _breaker(*columns), arrival, instant


def _keep(name: str, before: Breaker, after: Breaker) -> Plan[Breaker]:
    if after != before:
        yield ask(
            "change_transport",
            name=name,
            state=after.state,
            reason=after.reason,
            since=after.since,
            next_probe_at=after.next_probe_at,
            step=after.step,
            failures=after.failures,
            failed_at=after.failed_at,
        )
    return after


def _breaker(
    state: str, reason: str, since: Any, next_probe_at: Any, step: int, failures: int, failed_at: Any
) -> Breaker:
    return Breaker(
        state=BreakerState(state),
        reason=reason,
        since=moment(since),
        next_probe_at=moment(next_probe_at),
        step=step,
        failures=failures,
        failed_at=moment(failed_at),
    )

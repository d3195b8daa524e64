"""How each route stands, shared by all workers: its breaker. How far ahead its rate is reserved stands in the same row,
and is the business of `claim/allowance.py`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from postroom.settle.verdict import TransportVerdict
from postroom.store.contract import instant, moment
from postroom.store.plan import Plan, ask
from postroom.work.breaker import WELL, Breaker, BreakerState


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownRoute:
    """A route that somebody has used, and how it is doing."""

    name: str
    server: str
    """Where it leads, as people know it: `smtp.example.org:587`."""
    breaker: Breaker


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How routes are doing now."""

    breakers: Mapping[str, Breaker]
    """By the route's name."""
    now: datetime
    """By the database's clock."""


def standing_of(servers: Mapping[str, str], *, unused: Collection[str] = ()) -> Plan[Standing]:
    """How routes are doing, by name, asked without waiting for anybody. `servers` tells where each leads.

    One that nobody has used yet is made known, unless it is to stay `unused`; so is one that leads elsewhere by now.
    """
    known = {name: (server, columns) for name, server, *columns in (yield ask("transports"))}
    breakers, told = dict[str, Breaker](), None
    for name, server in servers.items():
        if name in known and known[name][0] == server:
            *columns, told = known[name][1]
            breakers[name] = _breaker(*columns)
        elif name in unused:
            breakers[name] = WELL
        else:
            yield ask("name_transport", name=name, server=server)
            breakers[name], _arrival, told = yield from _lock(name)
    if told is None:
        [[told]] = yield ask("clock")
    return Standing(breakers=breakers, now=instant(told))


def learn(name: str, *verdicts: TransportVerdict | None, jitter: float, probe: bool = False) -> Plan[Breaker]:
    """Tell all workers what attempts or a probe said about a route, one after another; how it stands now."""
    breaker, _arrival, now = yield from _lock(name)
    changed = breaker
    for verdict in verdicts:
        changed = changed.after(verdict, now, jitter, probe=probe)
    return (yield from _keep(name, breaker, changed))


def learn_all(heard: Mapping[str, Collection[TransportVerdict]], *, jitter: float) -> Plan[dict[str, Breaker]]:
    """The same for several routes, always in the order of their names: two workers never wait for each other."""
    known: dict[str, Breaker] = {}
    for name in sorted(heard):
        known[name] = yield from learn(name, *heard[name], jitter=jitter)
    return known


def take_probe(name: str, *, waited_for: datetime | None, jitter: float) -> Plan[bool]:
    """Whether this caller is the one to look if the route is well again; at most one at a time is.

    The caller has waited until `waited_for` by a clock that only goes forward: that holds, also where the database's
    clock was set back meanwhile.
    """
    breaker, _arrival, now = yield from _lock(name)
    if waited_for is not None and breaker.next_probe_at == waited_for:
        now = max(now, waited_for)
    if not breaker.should_probe(now):
        return False
    yield from _keep(name, breaker, breaker.probing(now, jitter))
    return True


def pause(name: str, reason: str) -> Plan[Breaker]:
    """Stop a route until a person resumes it."""
    breaker, _arrival, now = yield from _lock(name)
    return (yield from _keep(name, breaker, breaker.paused_by_person(reason, now)))


def resume(name: str) -> Plan[Breaker]:
    """A person says that all is well."""
    breaker, _arrival, _now = yield from _lock(name)
    changed = yield from _keep(name, breaker, breaker.resumed())
    yield ask("wake")
    return changed


def known_routes() -> Plan[list[KnownRoute]]:
    """Every route that somebody has used."""
    rows = yield ask("transports")
    return [KnownRoute(name=name, server=server, breaker=_breaker(*columns)) for name, server, *columns, _now in rows]


def shut_routes() -> Plan[frozenset[str]]:
    """Those that do not send just now."""
    known = yield from known_routes()
    return frozenset(each.name for each in known if each.breaker.state in (BreakerState.OPEN, BreakerState.PAUSED))


def _lock(name: str) -> Plan[tuple[Breaker, int, datetime]]:
    [[*columns, arrival, now]] = yield ask("lock_transport", name=name)
    return _breaker(*columns), arrival, instant(now)


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

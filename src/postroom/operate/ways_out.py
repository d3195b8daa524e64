"""The ways out: how each is doing, pausing and resuming one. Whoever acts, it is on record who did."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from postroom.channels import channel_by, channels
from postroom.config import RouteSettings, RouteTable, Settings
from postroom.errors import ConfigurationError, PostroomError
from postroom.operate.recording import By, line, name_of
from postroom.operate.values import RouteView, Workspaces
from postroom.store import acts
from postroom.store.plan import Course, Plan
from postroom.store.questions import waiting_by_route
from postroom.work import breakers
from postroom.work.breaker import Breaker, BreakerState
from postroom.work.breakers import KnownRoute

MOVED = 1_000
"""Emails that are moved in one transaction."""


class RouteShared(PostroomError):
    """Every workspace's mail leaves by a route: who may not see all of them does not stop or start it."""


class RouteNotFound(ConfigurationError, LookupError):
    """No worker has ever used a route of this name, and the settings do not know it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredRoute:
    """What the settings of whoever asks say of a route."""

    server: str = ""
    """Where it leads; empty where only workers know."""
    fallback: str | None = None
    rate: str | None = None
    channel: str | None = None


Declared = Mapping[str, DeclaredRoute]
"""By name. Workers may have settings of their own, and routes that are not among these."""


def declared_in(settings: Settings) -> Declared:
    """The routes that the settings name; the default one where they say anything of it."""
    usable = settings.all_routes()
    names = dict.fromkeys((*usable, *settings.routes))
    return {name: _declared(usable.get(name), settings.routes.get(name)) for name in names}


def _declared(usable: RouteSettings | None, table: RouteTable | None) -> DeclaredRoute:
    fallback, rate = (table.fallback, table.rate) if table is not None else (None, None)
    if usable is None:
        return DeclaredRoute(fallback=fallback, rate=rate)
    # A URL that cannot be read is told of by whoever has to use it.
    server, channel = "", None
    with suppress(ValueError):
        server, rate = _in_url(usable.url)
    with suppress(ConfigurationError):
        channel = channel_by(usable.url).name
    return DeclaredRoute(server=server, fallback=fallback, rate=rate, channel=channel)


def _undeclared(name: str) -> DeclaredRoute:
    """A route that the settings do not name: a channel's own, which needs none, or one that only workers know."""
    own = next((channel.name for channel in channels().values() if channel.route == name), None)
    return DeclaredRoute(channel=own)


def _in_url(url: str) -> tuple[str, str | None]:
    """Host and port, and the rate, of a URL, without what is secret in it."""
    parts = urlsplit(url)
    server = f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname or ""
    return server, dict(parse_qsl(parts.query)).get("rate")


def routes(declared: Declared, *, workspaces: Workspaces = None) -> Plan[tuple[RouteView, ...]]:
    """Every way out that a worker has used, that the settings know or that emails wait for, by name."""
    known = {each.name: each for each in (yield from breakers.known_routes())}
    waiting = (yield from waiting_by_route()) if workspaces is None else None
    return tuple(
        _view(name, known.get(name), declared.get(name) or _undeclared(name), waiting)
        for name in sorted({*known, *declared, *(waiting or ())})
    )


def pause_route(name: str, reason: str, by: By, *, declared: Declared, workspaces: Workspaces = None) -> Plan[Breaker]:
    """Stop a route until a person resumes it. Its emails wait and lose no attempt."""
    before = yield from _check(name, declared, workspaces)
    breaker = yield from breakers.pause(name, f"{reason} ({name_of(by)})")
    yield from line(by, "route_pause", route=name, reason=reason, before=before, after=breaker.state)
    return breaker


def resume_route(name: str, by: By, *, declared: Declared, workspaces: Workspaces = None) -> Plan[Breaker]:
    """Let a route send again; the next attempt shows whether it is well."""
    before = yield from _check(name, declared, workspaces)
    breaker = yield from breakers.resume(name)
    yield from line(by, "route_resume", route=name, before=before, after=breaker.state)
    return breaker


def move_route(
    name: str,
    to: str,
    by: By,
    *,
    limit: int | None,
    declared: Declared,
    sensitive: bool = False,
    workspaces: Workspaces = None,
) -> Course[int]:
    """Let emails that wait for one route leave by another, those whose turn comes first; how many were moved.

    Sensitive ones stay unless they are asked for, and the codes of sign-ins always.

    In batches, each in a transaction of its own; what each moved is on record with it.
    """
    yield _check(name, declared, workspaces)
    yield _check(to, declared, workspaces)
    moved = 0
    while limit is None or moved < limit:
        batch = MOVED if limit is None else min(MOVED, limit - moved)
        some: int = yield _move(name, to, by, batch, sensitive)
        moved += some
        if some < batch:
            break
    return moved


def _move(name: str, to: str, by: By, limit: int, sensitive: bool) -> Plan[int]:
    moved = yield from acts.move_route(from_route=name, to=to, actor=name_of(by), limit=limit, sensitive=sensitive)
    if moved:
        told = {"sensitive": "too"} if sensitive else {}
        yield from line(by, "route_move", route=name, to=to, emails=moved, **told)
    return moved


def _view(name: str, known: KnownRoute | None, declared: DeclaredRoute, waiting: Mapping[str, int] | None) -> RouteView:
    breaker = Breaker() if known is None else known.breaker
    return RouteView(
        name=name,
        server=(known.server if known else "") or declared.server,
        used=known is not None,
        waiting=None if waiting is None else waiting.get(name, 0),
        state=breaker.state,
        reason=breaker.reason,
        since=breaker.since,
        next_probe_at=breaker.next_probe_at,
        held=breaker.state is BreakerState.PAUSED and breaker.next_probe_at is None,
        fallback=declared.fallback,
        rate=declared.rate,
        channel=declared.channel,
    )


def _check(name: str, declared: Declared, workspaces: Workspaces) -> Plan[BreakerState]:
    """How a route stands that may be acted on."""
    if workspaces is not None:
        raise RouteShared("a route carries the mail of every workspace, and you may not see them all")
    known = {each.name: each.state for each in (yield from routes(declared))}
    if name not in known:
        raise RouteNotFound(f"no route is called {name!r}; known are {', '.join(known) or 'none yet'}")
    return known[name]

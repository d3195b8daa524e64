"""Pausing and resuming a transport, as plans: whoever carries them out, it is on record who acted."""

from __future__ import annotations

from postroom.accounts.audit import write_audit
from postroom.errors import ConfigurationError, PostroomError
from postroom.operate.values import Workspaces
from postroom.store.plan import Plan
from postroom.work import breakers
from postroom.work.breaker import Breaker


class TransportShared(PostroomError):
    """Every workspace's mail leaves by a transport: who may not see all of them does not stop or start it."""


class TransportNotFound(ConfigurationError, LookupError):
    """No worker has ever used a transport of this name."""


def pause_transport(name: str, reason: str, by: str, *, workspaces: Workspaces = None) -> Plan[Breaker]:
    """Stop a transport until a person resumes it. Its emails wait and lose no attempt."""
    yield from _check(name, workspaces)
    breaker = yield from breakers.pause(name, f"{reason} ({by})")
    yield from write_audit(by, "transport_pause", transport=name, reason=reason)
    return breaker


def resume_transport(name: str, by: str, *, workspaces: Workspaces = None) -> Plan[Breaker]:
    """Let a transport send again; the next attempt shows whether it is well."""
    yield from _check(name, workspaces)
    breaker = yield from breakers.resume(name)
    yield from write_audit(by, "transport_resume", transport=name)
    return breaker


def _check(name: str, workspaces: Workspaces) -> Plan[None]:
    if workspaces is not None:
        raise TransportShared("a transport carries the mail of every workspace, and you may not see them all")
    known = yield from breakers.known_routes()
    if name not in {each.name for each in known}:
        names = ", ".join(each.name for each in known) or "none yet"
        raise TransportNotFound(f"no transport is called {name!r}; workers have used {names}")

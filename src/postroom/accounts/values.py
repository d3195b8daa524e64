"""People and what they may do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any


class Role(StrEnum):
    """What a person may do; each includes those before it."""

    VIEWER = "viewer"
    """Look."""
    OPERATOR = "operator"
    """Retry, replay, cancel, dismiss; pause and resume transports; say who is not to be mailed."""
    ADMIN = "admin"
    """Everything."""

    @property
    def rank(self) -> int:
        return list(Role).index(self)

    def may(self, needed: Role) -> bool:
        """Whether this role is enough where that one is needed."""
        return self.rank >= needed.rank

    def at_most(self, other: Role) -> Role:
        """The lesser of the two."""
        return self if other.may(self) else other


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody who is signed in, or whose token was shown."""

    id: str
    name: str
    """The email address they sign in with."""
    role: Role
    workspaces: frozenset[str] | None = None
    """Which they may see; None: all."""

    @property
    def may_audit(self) -> bool:
        """Whether they may read who did what: an admin, and of every workspace, for so is the audit log."""
        return self.role is Role.ADMIN and self.workspaces is None

    def may_see(self, workspace: str) -> bool:
        return self.workspaces is None or workspace in self.workspaces


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A person as the database knows them."""

    person: Person
    password: str = field(repr=False)
    """As argon2 spells it."""
    created_at: datetime


class Stage(StrEnum):
    """How far a sign-in has come."""

    HALF = "half"
    """The password was right; nothing works yet."""
    FULL = "full"
    """The code was right, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A sign-in, begun or complete, as the server knows it."""

    digest: str = field(repr=False)
    """Of the token in the browser's cookie; the token itself is nowhere else."""
    person: Person
    stage: Stage
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """What a machine shows instead of signing in."""

    id: str
    person: Person
    """With the role and the workspaces that are left after narrowing them to the token's."""
    label: str
    """What it is for."""
    scope: Role
    created_at: datetime
    expires_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """Somebody did something, or was kept from it."""

    id: int
    """Later lines have greater ones."""
    at: datetime
    actor: str
    """A name, or what was typed in its place."""
    what: str
    """`sign_in`, `code_wrong`, `retry`, `route_pause`, …"""
    address: str
    """From where; empty on the host itself."""
    detail: Mapping[str, Any]
    """What was asked, and what came of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPage:
    """Some lines of the audit log, newest first. A page with few lines, or none, may still have a next one."""

    entries: tuple[AuditEntry, ...]
    next: int | None
    """Give it as `before` to go on; None when everything has been looked at."""

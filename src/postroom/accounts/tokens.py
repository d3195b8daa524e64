"""API tokens as plans: hashed, scoped, revocable."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from postroom.accounts.accounts import instant, person, workspaces_of, workspaces_text
from postroom.accounts.chance import digest
from postroom.accounts.values import Person, Role, Token
from postroom.store.contract import moment
from postroom.store.ids import new_id
from postroom.store.plan import Plan, ask


def add_token(
    who: Person,
    token: str,
    *,
    scope: Role,
    label: str = "",
    workspaces: Collection[str] | None = None,
    expires_at: datetime | None = None,
) -> Plan[str]:
    """From now on the token stands for the person, within the scope; its id, by which it can be revoked."""
    id = str(new_id())
    yield ask(
        "add_token",
        id=id,
        digest=digest(token),
        person=who.id,
        label=label,
        scope=scope,
        workspaces=workspaces_text(workspaces),
        expires_at=expires_at,
    )
    return id


def find_token(token: str) -> Plan[Token | None]:
    """What a token stands for now: never more than the person may, nor more than the token's scope."""
    rows = yield ask("find_token", digest=digest(token))
    return _token(rows[0]) if rows else None


def tokens_of(who: Person) -> Plan[list[Token]]:
    rows = yield ask("tokens", person=who.id)
    return [_token(row) for row in rows]


def revoke_token(who: Person, id: str) -> Plan[bool]:
    """The token is good no more; whether it was one of theirs."""
    rows = yield ask("revoke_token", id=id, person=who.id)
    return bool(rows)


def narrowed(who: Person, scope: Role, workspaces: frozenset[str] | None) -> Person:
    """The person with no more than both allow."""
    seen = workspaces if who.workspaces is None else who.workspaces
    if who.workspaces is not None and workspaces is not None:
        seen = who.workspaces & workspaces
    return Person(id=who.id, name=who.name, role=who.role.at_most(scope), workspaces=seen)


def _token(row: Sequence[Any]) -> Token:
    id, label, scope, workspaces, created_at, expires_at, *who = row
    return Token(
        id=id,
        person=narrowed(person(who), Role(scope), workspaces_of(workspaces)),
        label=label,
        scope=Role(scope),
        created_at=instant(created_at),
        expires_at=moment(expires_at),
    )

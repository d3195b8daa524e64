"""People as plans: add, find, list, change, remove."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from postroom.accounts.names import normal_name, typed_name
from postroom.accounts.values import Account, Person, Role
from postroom.errors import ConfigurationError, NameTaken, PersonNotFound
from postroom.store.contract import moment
from postroom.store.ids import new_id
from postroom.store.plan import Plan, ask


def add_person(name: str, *, role: Role, password: str, workspaces: Collection[str] | None = None) -> Plan[Person]:
    """Somebody new, with a hashed password."""
    person = Person(
        id=str(new_id()),
        name=normal_name(name),
        role=role,
        workspaces=None if workspaces is None else frozenset(workspaces),
    )
    rows = yield ask(
        "add_person",
        id=person.id,
        name=person.name,
        role=role,
        workspaces=workspaces_text(person.workspaces),
        password=password,
    )
    if not rows:
        raise NameTaken(person.name)
    return person


def find_person(name: str) -> Plan[Account | None]:
    """The person of a name, which is taken as it is."""
    rows = yield ask("find_person", name=name)
    return account(rows[0]) if rows else None


def get_person(name: str) -> Plan[Account]:
    """The person of a name; `PersonNotFound` if there is none."""
    found = yield from find_person(typed_name(name))
    if found is None:
        raise PersonNotFound(name)
    return found


def everybody() -> Plan[list[Account]]:
    """Everybody, by name."""
    rows = yield ask("people")
    return [account(row) for row in rows]


def change_password(person: Person, password: str) -> Plan[None]:
    """A new hashed password. Every sign-in of the person ends with it."""
    yield ask("change_password", id=person.id, password=password)


def change_role(person: Person, role: Role, *, workspaces: Collection[str] | None = None) -> Plan[Person]:
    """The person may do this, in these workspaces, from now on.

    Every sign-in of theirs ends, so that nothing goes on under the old role. Tokens stay: they never stand for more
    than the person may.
    """
    changed = replace(person, role=role, workspaces=None if workspaces is None else frozenset(workspaces))
    yield ask("change_role", id=person.id, role=role, workspaces=workspaces_text(changed.workspaces))
    return changed


def remove_person(person: Person) -> Plan[None]:
    """The person goes, with every sign-in, code and token."""
    yield ask("remove_person", id=person.id)


def check_somebody_is_there() -> Plan[None]:
    """Refuse to open a door through which nobody could go."""
    if not (yield from everybody()):
        raise ConfigurationError(
            "nobody may sign in yet: add somebody with `postroom user add you@example.org --role admin`, "
            "or try things out on this machine with `postroom web --dev`"
        )


def account(row: Sequence[Any]) -> Account:
    *who, password, created_at = row
    return Account(person=person(who), password=password, created_at=instant(created_at))


def person(row: Sequence[Any]) -> Person:
    """From the columns of the fragment `person`."""
    id, name, role, workspaces = row
    return Person(id=id, name=name, role=Role(role), workspaces=workspaces_of(workspaces))


def workspaces_of(text: str | None) -> frozenset[str] | None:
    return None if text is None else frozenset(json.loads(text))


def workspaces_text(workspaces: Collection[str] | None) -> str | None:
    return None if workspaces is None else json.dumps(sorted(workspaces), ensure_ascii=False)


def instant(value: Any) -> datetime:
    found = moment(value)
    assert found is not None
    return found

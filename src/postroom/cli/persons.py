"""The person that a command is about, and how people are told of."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import typer
from rich.text import Text

from postroom.accounts.accounts import get_person
from postroom.accounts.audit import write_audit
from postroom.accounts.values import Person
from postroom.cli.choice import machine_user
from postroom.cli.screen import standard_output
from postroom.outbox import Outbox
from postroom.store.plan import Plan

T = TypeVar("T")

Name = Annotated[str, typer.Argument(help="The email address they sign in with.", metavar="NAME")]
Workspaces = Annotated[
    list[str] | None, typer.Option("--workspace", help="Only this workspace; repeat it for more; all if not given.")
]


def find(outbox: Outbox, name: str) -> Person:
    """The person of a name; an error that says what to do if there is none."""
    return outbox.database.run(get_person(name), writes=False).person


def noted(what: str, person: Person, plan: Plan[T], **detail: Any) -> Plan[T]:
    """The plan, and a line in the audit log, in one transaction."""
    result = yield from plan
    yield from write_audit(machine_user(), what, person=person.name, **detail)
    return result


def workspaces_in_words(person: Person) -> str:
    return "all" if person.workspaces is None else ", ".join(sorted(person.workspaces))


def as_record(person: Person) -> dict[str, object]:
    """For `--json`."""
    workspaces = None if person.workspaces is None else sorted(person.workspaces)
    return {"name": person.name, "role": person.role, "workspaces": workspaces}


def say(text: str) -> None:
    standard_output().print(Text(f"{text}."), soft_wrap=True)

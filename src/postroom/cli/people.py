"""People: user add, list, role, password, remove, code, audit."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated

import typer
from rich.text import Text

from postroom.accounts import rules
from postroom.accounts.accounts import (
    add_person,
    change_password,
    change_role,
    everybody,
    remove_person,
)
from postroom.accounts.audit import read_audit, write_audit
from postroom.accounts.chance import new_code
from postroom.accounts.factors import Factors, everybodys_factors
from postroom.accounts.names import normal_name, typed_name
from postroom.accounts.passwords import check_new, hash_password
from postroom.accounts.secret import secret_key
from postroom.accounts.steps import code_from_the_host
from postroom.accounts.telling import in_one_line
from postroom.accounts.values import AuditEntry, Person, Role
from postroom.cli.choice import Json, machine_user
from postroom.cli.command import command
from postroom.cli.moments import exact
from postroom.cli.persons import Name, Workspaces, as_record, find, noted, say, workspaces_in_words
from postroom.cli.screen import print_json, somebody_is_there, standard_error, standard_output
from postroom.cli.second_factors import second_factor
from postroom.cli.tables import bare_table
from postroom.cli.target import Target
from postroom.cli.tokens import token
from postroom.errors import ConfigurationError
from postroom.outbox import Outbox
from postroom.store.plan import Plan

PasswordStdin = Annotated[
    bool, typer.Option("--password-stdin", help="Read the password from standard input instead of asking.")
]


def add(
    target: Target,
    name: Name,
    role: Annotated[Role, typer.Option(help="What they may do.", case_sensitive=False)] = Role.VIEWER,
    workspace: Workspaces = None,
    password_stdin: PasswordStdin = False,
) -> None:
    """Let somebody sign in to the admin app. Codes go to the address that is their name."""
    name = normal_name(name)
    with target.outbox() as outbox:
        password = _new_password(password_stdin)

        def plan() -> Plan[Person]:
            person = yield from add_person(name, role=role, password=password, workspaces=workspace)
            yield from write_audit(machine_user(), "user_add", person=name, role=role)
            return person

        person = outbox.database.run(plan())
    say(f"{person.name} may sign in as {role}{_where(person)}")


def list_people(target: Target, json: Json = False) -> None:
    """Who may sign in."""
    with target.outbox() as outbox:
        people = [account.person for account in outbox.database.run(everybody(), writes=False)]
        factors = outbox.database.run(everybodys_factors(), writes=False)
    if json:
        print_json({"people": [as_record(person) | _factors_record(factors[person.id]) for person in people]})
        return
    if not people:
        standard_error().print(Text("Nobody may sign in yet; `postroom user add` changes that."))
        return
    table = bare_table("name", "role", "workspaces", "second step")
    for person in people:
        told = (person.name, person.role, workspaces_in_words(person), factors[person.id].told)
        table.add_row(*map(Text, told))
    standard_output().print(table)


def role(
    target: Target,
    name: Name,
    role: Annotated[Role, typer.Argument(help="What they may do from now on.", case_sensitive=False)],
    workspace: Annotated[
        list[str] | None,
        typer.Option("--workspace", help="Only this workspace; repeat it for more; as before if not given."),
    ] = None,
    all_workspaces: Annotated[bool, typer.Option("--all-workspaces", help="All workspaces from now on.")] = False,
) -> None:
    """Change what somebody may do. It ends every session they have; their tokens never stand for more."""
    if workspace and all_workspaces:
        raise ConfigurationError("--workspace and --all-workspaces say different things; leave one out")
    with target.outbox() as outbox:
        person = find(outbox, name)
        seen = None if all_workspaces else workspace or person.workspaces
        plan = change_role(person, role, workspaces=seen)
        before = {"was": person.role, "workspaces": None if seen is None else sorted(seen)}
        person = outbox.database.run(noted("user_role", person, plan, role=role, **before))
    say(f"{person.name} is {role} now{_where(person)}, and every session has ended")


def password(target: Target, name: Name, password_stdin: PasswordStdin = False) -> None:
    """Give somebody a new password. It ends every session they have."""
    with target.outbox() as outbox:
        person = find(outbox, name)
        hashed = _new_password(password_stdin)
        outbox.database.run(noted("user_password", person, change_password(person, hashed)))
    say(f"{person.name} has a new password, and every session has ended")


def remove(target: Target, name: Name) -> None:
    """Let somebody in no more. Sessions and tokens end at once; what they did stays in the audit log."""
    with target.outbox() as outbox:
        person = find(outbox, name)
        outbox.database.run(noted("user_remove", person, remove_person(person)))
    say(f"{person.name} may sign in no more")


def code(target: Target, name: Name) -> None:
    """Print a code for the second step of a sign-in, for when mail is down. What was guessed before is forgotten."""
    with target.outbox() as outbox:
        person = find(outbox, name)
        fresh = new_code()

        def plan() -> Plan[None]:
            key = yield from secret_key(outbox.settings)
            yield from code_from_the_host(person, fresh, key=key, by=machine_user())

        outbox.database.run(plan())
    typer.echo(fresh)
    minutes = rules.CODE_LIFE.seconds // 60
    standard_error().print(Text(f"Good for {minutes} minutes, once, after the password of {person.name}.", style="dim"))


def audit(
    target: Target,
    name: Annotated[str | None, typer.Argument(help="Only what this one did.", metavar="NAME")] = None,
    act: Annotated[
        str | None, typer.Option(help="Only this act, as the column «what» spells it.", metavar="TEXT")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="How many lines.")] = 50,
    json: Json = False,
) -> None:
    """Who did what, newest first."""
    with target.outbox() as outbox:
        entries = _audited(outbox, actor=typed_name(name) if name else None, what=act, limit=limit)
    if json:
        print_json({"entries": [asdict(entry) | {"at": entry.at.isoformat()} for entry in entries]})
        return
    table = bare_table("at", "who", "what", "from", "told")
    for entry in entries:
        table.add_row(*map(_plain, (exact(entry.at), entry.actor, entry.what, entry.address, in_one_line(entry))))
    standard_output().print(table)


COMMANDS: dict[str, Callable[..., None]] = {
    "add": add,
    "list": list_people,
    "role": role,
    "password": password,
    "remove": remove,
    "code": code,
    "second-factor": second_factor,
    "token": token,
    "audit": audit,
}

app = typer.Typer(help="People: who may sign in to the admin app, and what they did.", no_args_is_help=True)

for command_name, function in COMMANDS.items():
    app.command(command_name)(command(function))


def _new_password(from_stdin: bool) -> str:
    """Asked twice, or one line of standard input; hashed."""
    if from_stdin:
        given = sys.stdin.readline().rstrip("\r\n")
    elif not somebody_is_there():
        raise ConfigurationError(
            "there is nobody to ask for a password: standard input is no terminal; add --password-stdin"
        )
    else:
        given = typer.prompt("Password", hide_input=True, confirmation_prompt="Once more", err=True)
    return hash_password(check_new(given))


def _audited(outbox: Outbox, *, actor: str | None, what: str | None, limit: int) -> list[AuditEntry]:
    """As many lines as asked for, page by page."""
    entries: list[AuditEntry] = []
    before: int | None = None
    while len(entries) < limit:
        plan = read_audit(actor=actor, what=what, before=before, limit=limit - len(entries))
        page = outbox.database.run(plan, writes=False)
        entries += page.entries
        before = page.next
        if before is None:
            break
    return entries


def _factors_record(factors: Factors) -> dict[str, object]:
    return {"authenticator": factors.authenticator, "recovery_codes": factors.recovery_codes}


def _where(person: Person) -> str:
    return "" if person.workspaces is None else f", in {workspaces_in_words(person)}"


def _plain(text: str) -> Text:
    """A terminal obeys control characters, and some of this came in requests."""
    return Text("".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text))

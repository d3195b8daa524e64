"""API tokens: user token."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.text import Text

from postroom.accounts.audit import write_audit
from postroom.accounts.chance import TOKEN_PREFIX, new_token
from postroom.accounts.tokens import add_token, revoke_token, tokens_of
from postroom.accounts.values import Person, Role, Token
from postroom.cli.choice import Json, machine_user
from postroom.cli.moments import coming_moment, exact
from postroom.cli.persons import Name, Workspaces, as_record, find, noted, say, workspaces_in_words
from postroom.cli.problems import ExitCode, fail
from postroom.cli.screen import print_json, standard_output
from postroom.cli.tables import bare_table
from postroom.cli.target import Target
from postroom.outbox import Outbox
from postroom.store.plan import Plan


def token(
    target: Target,
    name: Name,
    scope: Annotated[Role, typer.Option(help="What it may do, and never more than its owner.")] = Role.VIEWER,
    label: Annotated[str, typer.Option(help="What it is for.", metavar="TEXT")] = "",
    workspace: Workspaces = None,
    expires: Annotated[str | None, typer.Option(help="When it ends: 90d, or a date.", metavar="TIME")] = None,
    list_all: Annotated[bool, typer.Option("--list", help="Show their tokens instead, without the secrets.")] = False,
    revoke: Annotated[str | None, typer.Option(help="End the token of this id instead.", metavar="ID")] = None,
    json: Json = False,
) -> None:
    """Make an API token, which is shown once; or list or revoke somebody's tokens."""
    with target.outbox() as outbox:
        person = find(outbox, name)
        if list_all:
            _list_tokens(outbox, person, json=json)
        elif revoke is not None:
            _revoke(outbox, person, revoke)
        else:
            until = coming_moment("--expires", expires, now=datetime.now(UTC))
            secret = new_token(TOKEN_PREFIX)
            adding = add_token(person, secret, scope=scope, label=label, workspaces=workspace, expires_at=until)
            id = outbox.database.run(noted("token_add", person, adding, scope=scope, label=label))
            print_json({"id": id, "token": secret}) if json else typer.echo(secret)


def _list_tokens(outbox: Outbox, person: Person, *, json: bool) -> None:
    tokens = outbox.database.run(tokens_of(person), writes=False)
    if json:
        print_json({"tokens": [_record(each) for each in tokens]})
        return
    table = bare_table("id", "scope", "label", "workspaces", "until")
    for each in tokens:
        until = exact(each.expires_at) if each.expires_at else "it is revoked"
        table.add_row(*map(Text, (each.id, each.scope, each.label, workspaces_in_words(each.person), until)))
    standard_output().print(table)


def _revoke(outbox: Outbox, person: Person, id: str) -> None:
    def plan() -> Plan[bool]:
        gone = yield from revoke_token(person, id)
        if gone:
            yield from write_audit(machine_user(), "token_revoke", person=person.name, token=id)
        return gone

    if not outbox.database.run(plan()):
        fail(f"{person.name} has no token {id}; --list shows those there are", ExitCode.NOT_DONE)
    say(f"token {id} is good no more")


def _record(token: Token) -> dict[str, object]:
    return {
        "id": token.id,
        "label": token.label,
        "scope": token.scope,
        "workspaces": as_record(token.person)["workspaces"],
        "expires_at": token.expires_at.isoformat() if token.expires_at else None,
    }

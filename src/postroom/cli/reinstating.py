"""Taking a dismissal back: reinstate."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.text import Text

from postroom.cli.choice import Ids, Json, email_id, machine_user
from postroom.cli.moments import relative
from postroom.cli.problems import ExitCode, tell
from postroom.cli.screen import print_json, standard_error, standard_output
from postroom.cli.tables import bare_table, first_of, status_text
from postroom.cli.target import Target
from postroom.errors import ConfigurationError, EmailNotFound
from postroom.operate import Operations
from postroom.operate.wording import count_of
from postroom.store.dismissals import Dismissed
from postroom.store.records import as_record
from postroom.vocabulary import EmailId

LISTED = 1_000
"""Emails that are told of at most, the latest."""


def reinstate(
    target: Target,
    ids: Ids = None,
    act: Annotated[
        str, typer.Option(help="All that one `dismiss` took away; it tells this when it is done.", metavar="ACT")
    ] = "",
    by: Annotated[
        str | None, typer.Option(help="Who does it, for the history; else the user of this machine.", metavar="NAME")
    ] = None,
    json: Json = False,
) -> None:
    """Take a dismissal back for as long as the setting `undo` says. Without ids: list what can be reinstated."""
    if ids and act:
        raise ConfigurationError("ids and --act were given; give one or the other")
    actor = by or machine_user()
    with target.operations() as operations:
        if act:
            _report(operations.undo_dismissal(act, by=actor), {}, json=json)
        elif ids:
            _each(operations, tuple(dict.fromkeys(map(email_id, ids))), actor, json=json)
        else:
            _list(operations.dismissed(limit=LISTED), json=json)


def _each(operations: Operations, ids: Sequence[EmailId], actor: str, *, json: bool) -> None:
    refused: dict[EmailId, str] = {}
    for id in ids:
        try:
            operations.reinstate(id, by=actor)
        except EmailNotFound:
            refused[id] = f"email {id} cannot be reinstated: it was not dismissed, or that is too long ago"
    _report(len(ids) - len(refused), refused, json=json)
    if refused:
        raise typer.Exit(int(ExitCode.NOT_DONE))


def _report(done: int, refused: dict[EmailId, str], *, json: bool) -> None:
    if json:
        errors = [{"id": id, "error": error} for id, error in refused.items()]
        print_json({"act": "reinstate", "applied": done, "refused": errors})
        return
    for error in refused.values():
        tell(error)
    if done or not refused:
        standard_output().print(Text(f"reinstated {count_of(done, 'email')}"))


def _list(found: Sequence[Dismissed], *, json: bool) -> None:
    if json:
        print_json({"dismissed": [_record(each) for each in found]})
        return
    if not found:
        standard_error().print(Text("Nothing was dismissed that could be reinstated."))
        return
    now, table = datetime.now(UTC), bare_table("id", "was", "to", "dismissed", "by", "gone")
    for each in found:
        table.add_row(
            each.email.id,
            status_text(each.email.status),
            first_of(each.email.recipients) or "",
            relative(each.at, now=now),
            each.by or "",
            relative(each.until, now=now),
        )
    standard_output().print(table)


def _record(each: Dismissed) -> dict[str, object]:
    return {
        **as_record(each.email),
        "dismissed_at": each.at.isoformat(),
        "dismissed_by": each.by,
        "act": each.act,
        "until": each.until.isoformat(),
    }

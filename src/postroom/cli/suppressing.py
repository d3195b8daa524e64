"""Who is not to be mailed: suppress add, remove, list, show, import, export."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from postroom.accounts.names import printable
from postroom.cli.asking import ask_first
from postroom.cli.choice import Json, machine_user
from postroom.cli.command import command
from postroom.cli.moments import coming_moment, exact, relative
from postroom.cli.screen import print_json, standard_error, standard_output
from postroom.cli.suppression_files import export_list, import_list
from postroom.cli.tables import bare_table
from postroom.cli.target import Target
from postroom.errors import ConfigurationError, InvalidEmail
from postroom.operate import Operations, recognise
from postroom.operate.stops import read_address, read_stop
from postroom.operate.suppression_rights import SAID_NO, RemovalUnconfirmed
from postroom.operate.suppression_wording import (
    address_in_words,
    denied_in_words,
    reason_in_words,
    stops_in_words,
    suppression_record,
)
from postroom.store.suppressions import Suppression
from postroom.vocabulary import SuppressionReason, SuppressionScope

Reason = Annotated[SuppressionReason | None, typer.Option(help="Only entries with this reason.", case_sensitive=False)]


def add(
    target: Target,
    address: Annotated[str, typer.Argument(help="Who is not to be mailed.", metavar="ADDRESS")],
    reason: Annotated[SuppressionReason, typer.Option(help="Why.", case_sensitive=False)] = SuppressionReason.MANUAL,
    scope: Annotated[
        SuppressionScope | None,
        typer.Option(help="What is stopped; else what --workspace and --kind say.", case_sensitive=False),
    ] = None,
    workspace: Annotated[
        str | None,
        typer.Option(help="Mail of this workspace that can be unsubscribed from; '' is mail without a workspace."),
    ] = None,
    kind: Annotated[
        str, typer.Option(help="Mail of this kind, in that workspace, that can be unsubscribed from.")
    ] = "",
    evidence: Annotated[str, typer.Option(help="What shows it, in words for people.", metavar="TEXT")] = "",
    until: Annotated[
        str | None, typer.Option(help="When it ends: 30d, 2026-12-31; else when it is removed.", metavar="TIME")
    ] = None,
    json: Json = False,
) -> None:
    """Stop mail to an address, for good or for a while. Said twice, it is one entry, which never ends sooner."""
    now = datetime.now(UTC)
    ends = coming_moment("--until", until, now=now)
    if workspace is None and (kind or scope is SuppressionScope.WORKSPACE):
        raise InvalidEmail("workspace", "is missing", "name it with --workspace; '' is mail without a workspace")
    given = {
        "address": address,
        "reason": reason.value,
        "scope": _scope(scope, workspace, kind),
        "workspace": workspace or "",
        "kind": kind,
        "evidence": evidence,
        "expires_at": ends.isoformat() if ends else "",
    }
    stop = read_stop(given, actor=machine_user(), after=now)
    with target.operations() as operations:
        entry = operations.suppress(stop, by=machine_user())
    if json:
        print_json(suppression_record(entry))
        return
    end = f" until {exact(entry.expires_at)}" if entry.expires_at else ""
    standard_output().print(Text(f"{entry.address} gets no {denied_in_words(entry)}{end}."), soft_wrap=True)


def remove(
    target: Target,
    which: Annotated[
        str,
        typer.Argument(help="An address, with all entries it has, or the id of one entry.", metavar="ADDRESS-OR-ID"),
    ],
    reason: Annotated[
        list[SuppressionReason] | None,
        typer.Option(help="Of an address: only entries with this reason; may be said several times."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Also what the person has said themselves.")] = False,
    json: Json = False,
) -> None:
    """Let an address be mailed again: remove its entries, or one entry.

    An entry that is the person's own word (unsubscribe, complaint) is removed after a question, or with --yes.
    """
    if reason and recognise.email_id(which):
        raise ConfigurationError("--reason goes with an address, and an id was given; leave --reason out")
    with target.operations() as operations:
        try:
            removed = _removed(operations, which, reason or (), confirm=yes)
        except RemovalUnconfirmed as unconfirmed:
            ask_first(f"remove {_own_words(unconfirmed.entries)}: {SAID_NO}", instead="add --yes if they have")
            removed = _removed(operations, which, reason or (), confirm=True)
    if json:
        print_json({"removed": [suppression_record(entry) for entry in removed]})
        return
    for entry in removed:
        said = f"removed: {entry.address}, {stops_in_words(entry)} ({reason_in_words(entry)})"
        standard_output().print(Text(said), soft_wrap=True)


def list_entries(
    target: Target,
    part: Annotated[str | None, typer.Argument(help="Any part of an address.", metavar="PART")] = None,
    reason: Reason = None,
    workspace: Annotated[str | None, typer.Option(help="Entries of this workspace, and those about all mail.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many to show.")] = 50,
    before: Annotated[
        str | None, typer.Option(help="Older than this entry: the `next` of the page before.", metavar="ID")
    ] = None,
    json: Json = False,
) -> None:
    """List who is not to be mailed, the latest first."""
    if before is not None and recognise.email_id(before) is None:
        raise ConfigurationError(f"--before {before!r} is not the id of an entry; `suppress list` shows ids")
    for name, text in (("PART", part), ("--workspace", workspace)):
        if not (text or "").isprintable():
            raise ConfigurationError(
                f"{name} holds what cannot be printed, and no address or workspace does; remove it"
            )
    workspaces = None if workspace is None else frozenset({workspace})
    with target.operations() as operations:
        page = operations.suppressions(part=part, reason=reason, limit=limit, before=before, workspaces=workspaces)
    if json:
        print_json({"suppressions": [suppression_record(entry) for entry in page.entries], "next": page.next})
    elif page.entries:
        standard_output().print(_table(page.entries))
        if page.next is not None:
            standard_error().print(Text(f"There are more: --before {page.next}", style="dim"))
    else:
        narrowed = part or reason or workspace is not None or before
        standard_error().print(
            Text("No entry matches; leave some options out." if narrowed else "Nobody is on the list.")
        )


def show(
    target: Target,
    address: Annotated[str, typer.Argument(help="Who is asked about.", metavar="ADDRESS")],
    json: Json = False,
) -> None:
    """Show what is known of an address, and which mail that stops."""
    wanted = read_address(address)
    with target.operations() as operations:
        entries = operations.suppressions_of(wanted)
    told = address_in_words(wanted, entries)
    if json:
        print_json({"address": wanted, "told": told, "suppressions": [suppression_record(each) for each in entries]})
        return
    standard_output().print(Text(told), soft_wrap=True)
    if entries:
        standard_output().print()
        standard_output().print(_table(entries))


COMMANDS: dict[str, Callable[..., None]] = {
    "add": add,
    "remove": remove,
    "list": list_entries,
    "show": show,
    "import": import_list,
    "export": export_list,
}

app = typer.Typer(help="Suppressions: who is not to be mailed, and why.", no_args_is_help=True)

for command_name, function in COMMANDS.items():
    app.command(command_name)(command(function))

# What somebody who looks for an address types first.
app.command("search", hidden=True)(command(list_entries))


def _removed(
    operations: Operations, which: str, reasons: Sequence[SuppressionReason], *, confirm: bool
) -> Sequence[Suppression]:
    if recognise.email_id(which):
        return [operations.unsuppress(which, by=machine_user(), confirm=confirm)]
    return operations.unsuppress_address(which, by=machine_user(), reasons=reasons, confirm=confirm)


def _scope(named: SuppressionScope | None, workspace: str | None, kind: str) -> str:
    """What was named; else what follows from the rest, of which a workspace without a name says something, too."""
    if named is None and workspace is not None:
        named = SuppressionScope.KIND if kind else SuppressionScope.WORKSPACE
    return named.value if named else ""


def _own_words(entries: Sequence[Suppression]) -> str:
    reasons = " and ".join(sorted({entry.reason.value for entry in entries}))
    return f"{'1 entry' if len(entries) == 1 else f'{len(entries)} entries'} ({reasons})"


def _table(entries: Sequence[Suppression]) -> Table:
    now, table = datetime.now(UTC), bare_table("address", "stops", "reason", "since", "until", "evidence", "id")
    for entry in entries:
        told = (
            entry.address,
            stops_in_words(entry),
            entry.reason.value,
            relative(entry.created_at, now=now),
            exact(entry.expires_at) if entry.expires_at else "",
            entry.evidence,
            entry.id,
        )
        table.add_row(*(Text(printable(" ".join(each.split()))) for each in told))
    return table

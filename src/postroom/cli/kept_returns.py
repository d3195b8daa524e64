"""What came back and is kept: a list of it, and the messages themselves."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from postroom.cli.choice import return_id
from postroom.cli.moments import relative
from postroom.cli.problems import ExitCode, fail
from postroom.cli.screen import print_json, standard_error, standard_output
from postroom.cli.tables import bare_table
from postroom.cli.target import Target
from postroom.errors import ConfigurationError

if TYPE_CHECKING:
    from postroom.store.notes import StoredReturn

_PANEL = "What came back before"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What to show of what came back before."""

    listed: Annotated[
        bool, typer.Option("--list", help="List what came back, latest first.", rich_help_panel=_PANEL)
    ] = False
    unclear: Annotated[
        bool,
        typer.Option(
            "--unclear",
            help="With --list: only what is about no email that is known, and what nobody could read.",
            rich_help_panel=_PANEL,
        ),
    ] = False
    kind: Annotated[
        str | None,
        typer.Option(
            help="With --list: only this, such as bounced, replied or unreadable.",
            metavar="KIND",
            rich_help_panel=_PANEL,
        ),
    ] = None
    about: Annotated[
        str | None,
        typer.Option(
            help="With --list: only what is from or about this address, or about the email of this id or Message-ID.",
            metavar="ADDRESS|ID",
            rich_help_panel=_PANEL,
        ),
    ] = None
    limit: Annotated[
        int, typer.Option(min=1, max=10_000, help="With --list: how many to show.", rich_help_panel=_PANEL)
    ] = 50
    before: Annotated[
        str | None,
        typer.Option(help="With --list: older than this one.", metavar="ID", rich_help_panel=_PANEL),
    ] = None
    source: Annotated[
        str | None,
        typer.Option(
            help="The message that this was read from, as far as it is kept.", metavar="ID", rich_help_panel=_PANEL
        ),
    ] = None

    @property
    def asked(self) -> bool:
        return self.listed or self.source is not None


def show_kept(target: Target, kept: Kept, *, json: bool) -> None:
    """A list, or one message as it came."""
    if kept.listed and kept.source is not None:
        raise ConfigurationError("--list and --source exclude each other; choose one")
    if kept.source is not None:
        _print_message(target, return_id(kept.source))
    else:
        _print_list(target, kept, json=json)


def _print_list(target: Target, kept: Kept, *, json: bool) -> None:
    from postroom.operate import Operations
    from postroom.operate.came_back import KINDS, ReturnSearch

    if kept.kind is not None and kept.kind not in KINDS:
        raise ConfigurationError(f"--kind is none of {', '.join(KINDS)}; choose one")
    search = ReturnSearch(kind=kept.kind, unclear=kept.unclear, about=kept.about or "")
    before = return_id(kept.before) if kept.before else None
    with target.outbox() as outbox:
        page = Operations(outbox).returns(search, limit=kept.limit, before=before)
    found = [view.kept for view in page.returns]
    if json:
        print_json({"returns": [return_record(each) for each in found], "next": page.next})
    elif found:
        _print_table(found)
    else:
        standard_error().print(Text(_nothing(kept, more=page.next is not None)))


def _nothing(kept: Kept, *, more: bool) -> str:
    if more:
        return "Nothing among the latest; --json tells where to go on."
    if kept.kind or kept.about:
        return "Nothing matches."
    return "Nothing is unclear." if kept.unclear else "Nothing came back so far."


def return_record(kept: StoredReturn) -> dict[str, Any]:
    """For programs."""
    told = asdict(kept) | {"received_at": kept.received_at.isoformat().replace("+00:00", "Z")}
    told["class"] = told.pop("bounce_class")
    return told | {"until": kept.until.isoformat() if kept.until else None}


def _print_table(found: list[StoredReturn]) -> None:
    table, now = bare_table("id", "came", "what", "said", "address", "email"), datetime.now(UTC)
    for each in found:
        said = " ".join(str(part) for part in (each.bounce_class, each.code, each.status) if part)
        table.add_row(
            Text(each.id),
            Text(relative(each.received_at, now=now)),
            Text(each.what),
            Text(said),
            Text(each.address),
            Text(each.email_id or each.problem or ""),
        )
    standard_output().print(table)


def _print_message(target: Target, id: str) -> None:
    from postroom.operate import Operations
    from postroom.operate.came_back import ReturnNotFound
    from postroom.operate.visible import visible

    with target.outbox() as outbox:
        try:
            raw = Operations(outbox).returned(id).raw
        except ReturnNotFound:
            fail(f"nothing that came back has the id {id}", ExitCode.NOT_DONE)
    if raw is None:
        fail("the message is not kept, or not any more", ExitCode.NOT_DONE)
    sys.stdout.flush()
    # A terminal obeys control characters, and somebody else wrote this message.
    to_be_read = visible(raw.content.decode("utf-8", "replace")).encode() if sys.stdout.isatty() else raw.content
    sys.stdout.buffer.write(to_be_read)
    sys.stdout.buffer.flush()

"""What came back and is kept: a list of it, and the messages themselves."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from postroom.cli.choice import email_id
from postroom.cli.moments import relative
from postroom.cli.problems import ExitCode, fail
from postroom.cli.screen import print_json, standard_error, standard_output
from postroom.cli.tables import bare_table
from postroom.cli.target import Target
from postroom.errors import ConfigurationError

if TYPE_CHECKING:
    from postroom.store.returns import StoredReturn

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
        _print_message(target, email_id(kept.source))
    else:
        _print_list(target, kept, json=json)


def _print_list(target: Target, kept: Kept, *, json: bool) -> None:
    from postroom.store.ids import LAST
    from postroom.store.returns import returns

    before = email_id(kept.before) if kept.before else LAST
    with target.outbox() as outbox:
        found = outbox.database.run(returns(limit=kept.limit, before=before, unclear=kept.unclear), writes=False)
    if json:
        print_json({"returns": [return_record(each) for each in found]})
    elif found:
        _print_table(found)
    else:
        standard_error().print(Text("Nothing came back so far." if not kept.unclear else "Nothing is unclear."))


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
    from postroom.store.returns import read_return

    with target.outbox() as outbox:
        found = outbox.database.run(read_return(id), writes=False)
    if found is None:
        fail(f"nothing that came back has the id {id}", ExitCode.NOT_DONE)
    _, raw = found
    if raw is None:
        fail("the message is not kept any more", ExitCode.NOT_DONE)
    sys.stdout.flush()
    sys.stdout.buffer.write(_tamed(raw.content) if sys.stdout.isatty() else raw.content)
    sys.stdout.buffer.flush()


def _tamed(content: bytes) -> bytes:
    """A terminal obeys control characters, and somebody else wrote this message."""
    text = content.decode("utf-8", "replace")
    return "".join(
        each if each.isprintable() or each in "\n\t" else "\N{REPLACEMENT CHARACTER}" for each in text
    ).encode()

"""Keeping the outbox small: prune."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from postroom.cli.asking import ask_whether_to_go_on
from postroom.cli.choice import Json, machine_user
from postroom.cli.screen import print_json, somebody_is_there, standard_error, standard_output
from postroom.cli.target import Target
from postroom.duration import format_duration, parse_duration
from postroom.errors import ConfigurationError
from postroom.operate.recording import line, new_tie
from postroom.operate.wording import counted_emails
from postroom.outbox import PRUNED, Outbox
from postroom.store.housekeeping import PRUNABLE, Pruned, prunable
from postroom.vocabulary import Status

_COUNTED = 10_000
"""How far a preview counts."""


def prune(
    target: Target,
    older_than: Annotated[
        str | None, typer.Option(help="Finished longer ago than this, such as 30d; else the retention setting.")
    ] = None,
    status: Annotated[
        list[Status] | None, typer.Option(help="sent, cancelled or dead; repeat it for more. The first two if none.")
    ] = None,
    archive: Annotated[
        Path | None, typer.Option(help="Append them to this file first, as JSON lines.", dir_okay=False)
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count; change nothing.")] = False,
    json: Json = False,
) -> None:
    """Remove finished emails past retention. On a terminal it asks first; a scheduled job is not asked."""
    statuses = _checked(status)
    with target.outbox() as outbox:
        age = outbox.settings.retention if older_than is None else parse_duration(older_than)
        count = _count(outbox, age, statuses) if dry_run or somebody_is_there() else 0
        if dry_run:
            _report_count(count, age, json=json)
            return
        if count and somebody_is_there() and not yes:
            ask_whether_to_go_on(f"remove {_emails(count)} that finished more than {format_duration(age)} ago")
        with _on_record(outbox, age, statuses, archive) as record, _progress(count) as progress:
            pruned = outbox.prune(older_than=age, statuses=statuses, archive=archive, progress=progress)
            record.update(done=pruned.removed)
    _report(pruned, archive, json=json)


def _checked(statuses: list[Status] | None) -> tuple[Status, ...]:
    chosen = tuple(dict.fromkeys(statuses or PRUNED))
    for status in chosen:
        if status not in PRUNABLE:
            known = ", ".join(PRUNABLE)
            raise ConfigurationError(f"{status} emails are not finished and cannot be pruned; choose from {known}")
    return chosen


def _count(outbox: Outbox, age: timedelta, statuses: tuple[Status, ...]) -> int:
    before = datetime.now(UTC) - age
    batch = outbox.database.run(prunable(before=before, statuses=statuses, limit=_COUNTED), writes=False)
    return len(batch.ids)


@contextmanager
def _on_record(
    outbox: Outbox, age: timedelta, statuses: tuple[Status, ...], archive: Path | None
) -> Iterator[dict[str, int]]:
    """A line in the audit log when it begins, and one with what came of it."""
    asked = {"older_than": format_duration(age), "statuses": list(statuses), "archive": str(archive or "")}
    tie, came_of_it = new_tie(), dict[str, int]()
    outbox.database.run(line(machine_user(), "prune", act=tie, state="begun", **asked))
    yield came_of_it
    outbox.database.run(line(machine_user(), "prune", act=tie, state="done", **asked, **came_of_it))


@contextmanager
def _progress(count: int) -> Iterator[Callable[[int], None]]:
    """A bar on standard error where somebody looks; its end is open where nobody counted that far."""
    console = standard_error()
    if not console.is_terminal:
        yield lambda removed: None
        return
    columns = (TextColumn("removing"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("removing", total=count if 0 < count < _COUNTED else None)
        yield lambda removed: bar.update(task, completed=removed)


def _report_count(count: int, age: timedelta, *, json: bool) -> None:
    if json:
        print_json({"dry_run": True, "removed": count, "swept": 0})
        return
    standard_output().print(
        Text(f"would remove {_emails(count)} that finished more than {format_duration(age)} ago; nothing was changed")
    )


def _report(pruned: Pruned, archive: Path | None, *, json: bool) -> None:
    if json:
        print_json({"dry_run": False, "removed": pruned.removed, "swept": pruned.swept})
        return
    where = f", archived in {archive}" if archive else ""
    standard_output().print(Text(f"removed {_emails(pruned.removed)}{where}"), soft_wrap=True)


def _emails(count: int) -> str:
    return counted_emails(count, capped=count >= _COUNTED)

"""Lists of who is not to be mailed: suppress import, export."""

from __future__ import annotations

import json as json_format
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, BinaryIO

import typer
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from postroom.cli.choice import Json, machine_user
from postroom.cli.problems import ExitCode, tell
from postroom.cli.screen import print_json, standard_error, standard_output
from postroom.cli.target import Target
from postroom.operate import Operations
from postroom.operate.suppression_lists import ImportReport, written
from postroom.operate.suppression_wording import suppression_record
from postroom.operate.wording import count_of
from postroom.store.suppressions import Suppression
from postroom.vocabulary import SuppressionReason, SuppressionScope

PAGE = 1_000
"""Entries that are read and written at once."""


def import_list(
    target: Target,
    file: Annotated[str, typer.Argument(help="CSV, or addresses one a line, in UTF-8; - is standard input.")],
    reason: Annotated[
        SuppressionReason, typer.Option(help="Of lines that name none.", case_sensitive=False)
    ] = SuppressionReason.IMPORTED,
    scope: Annotated[
        SuppressionScope | None,
        typer.Option(
            help="What lines stop that do not say; else what --workspace and --kind say.", case_sensitive=False
        ),
    ] = None,
    workspace: Annotated[str, typer.Option(help="The workspace of lines that say nothing of what they stop.")] = "",
    kind: Annotated[str, typer.Option(help="The kind of lines that say nothing of what they stop.")] = "",
    json: Json = False,
) -> None:
    """Take a list of addresses in. Twice is once: what is there stays. Refused lines are told, with the reason."""
    defaults = {"reason": reason.value, "scope": scope.value if scope else "", "workspace": workspace, "kind": kind}
    with _opened(file) as source, target.operations() as operations, _progress(source) as progress:
        report = operations.import_suppressions(source, by=machine_user(), defaults=defaults, progress=progress)
    _report(report, json=json)
    if report.refused:
        raise typer.Exit(int(ExitCode.NOT_DONE))


def export_list(
    target: Target,
    json: Annotated[bool, typer.Option("--json", help="For programs: one JSON object a line.")] = False,
) -> None:
    """Write all entries to standard output: CSV, which `import` reads back, the latest first."""
    with target.operations() as operations:
        operations.note_export(by=machine_user())
        if not json:
            sys.stdout.write(written((), heading=True))
        for entries in _pages(operations):
            sys.stdout.write(_as_json(entries) if json else written(entries))
        sys.stdout.flush()  # a reader who has gone is noticed here


def _pages(operations: Operations) -> Iterator[tuple[Suppression, ...]]:
    """All entries, a page at a time: it takes no more memory than that."""
    before: str | None = None
    while True:
        page = operations.suppressions(limit=PAGE, before=before)
        yield page.entries
        if (before := page.next) is None:
            return


def _as_json(entries: tuple[Suppression, ...]) -> str:
    return "".join(f"{json_format.dumps(suppression_record(entry), ensure_ascii=False)}\n" for entry in entries)


@contextmanager
def _opened(file: str) -> Iterator[BinaryIO]:
    if file == "-":
        yield sys.stdin.buffer
        return
    with Path(file).open("rb") as source:
        yield source


@contextmanager
def _progress(source: BinaryIO) -> Iterator[Callable[[ImportReport], None]]:
    """A bar where somebody looks and the end is known."""
    console = standard_error()
    if not (console.is_terminal and source.seekable()):
        yield lambda _: None
        return
    size = source.seek(0, 2)
    source.seek(0)
    columns = (TextColumn("importing"), BarColumn(), TextColumn("{task.fields[lines]:,} lines"))
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=size, lines=0)
        yield lambda report: bar.update(task, completed=source.tell(), lines=report.lines)


def _report(report: ImportReport, *, json: bool) -> None:
    if json:
        print_json(asdict(report))
        return
    for each in report.problems:
        tell(f"line {each.line}: {each.problem}")
    if (unnamed := report.refused - len(report.problems)) > 0:
        tell(f"{unnamed:,} more lines were refused, for reasons such as these")
    said = f"{report.added:,} added, {report.known:,} known already, {report.refused:,} refused"
    standard_output().print(Text(f"{count_of(report.lines, 'line')}: {said}"))

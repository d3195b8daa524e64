"""campaign import: prospects from a CSV file, with a report of every row."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.text import Text

from postroom.campaigns.importing.batches import Imported, RowOutcome, RowReport
from postroom.campaigns.importing.table import Table, open_table
from postroom.cli.campaign_options import Workspace
from postroom.cli.choice import Json, machine_user
from postroom.cli.problems import ExitCode
from postroom.cli.screen import print_json, standard_error, standard_output
from postroom.cli.target import Target
from postroom.errors import InvalidCampaign
from postroom.operate.campaigns import CampaignOperations
from postroom.operate.wording import count_of

SHOWN = 10
"""Rows with something to tell that are shown; a report has them all."""
_HEADINGS = ("line", "outcome", "address", "id", "enrolled", "reason")
_WORKED_OUT = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for a formula at the beginning of a cell."""
_DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t"}

Heard = Callable[[RowReport], None]


def import_prospects(
    target: Target,
    file: Annotated[Path, typer.Argument(help="A CSV file in UTF-8, with a line of headings.", metavar="FILE")],
    campaign: Annotated[
        str | None, typer.Option(help="Put them into this draft, too.", metavar="ID", show_default=False)
    ] = None,
    update: Annotated[bool, typer.Option("--update", help="Change those that are there and differ.")] = False,
    delimiter: Annotated[
        str | None,
        typer.Option(help="What divides cells: comma, semicolon or tab; else it is found.", metavar="NAME"),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write what became of every row to this CSV file.", metavar="FILE")
    ] = None,
    workspace: Workspace = "",
    json: Json = False,
) -> None:
    """Take prospects in from a CSV file. The same file again adds nothing; a bad row costs itself and no other."""
    divides = None if delimiter is None else _DELIMITERS.get(delimiter.lower(), delimiter)
    if report is not None and report.resolve() == file.resolve():
        raise InvalidCampaign("--report", "is the file that is imported", "write the report to another file")
    shown: list[RowReport] = []
    differing = 0
    with (
        open_table(file, delimiter=divides) as table,
        target.outbox() as outbox,
        _written(report) as write,
        _progress(table) as tell,
    ):

        def heard(row: RowReport) -> None:
            nonlocal differing
            write(row)
            tell()
            differing += row.outcome is RowOutcome.UNCHANGED and bool(row.reason)
            if row.outcome in (RowOutcome.REFUSED, RowOutcome.DUPLICATE) and len(shown) < SHOWN:
                shown.append(row)

        imported = CampaignOperations(outbox).import_prospects(
            workspace, table, by=machine_user(), campaign=campaign, update=update, report=heard
        )
    if json:
        told = {"counts": imported.counts, "differing": differing, "enrolled": imported.enrolled}
        records = [_record(row) for row in shown]
        print_json({"rows": imported.rows, **told, "fields": list(imported.fields), "shown": records})
    else:
        _tell(imported, shown, differing=differing, campaign=campaign, report=report)
    if imported.counts[RowOutcome.REFUSED]:
        raise typer.Exit(int(ExitCode.NOT_DONE))


def _tell(
    imported: Imported, shown: list[RowReport], *, differing: int, campaign: str | None, report: Path | None
) -> None:
    output = standard_output()
    output.print(Text(f"{count_of(imported.rows, 'row')}: {_in_words(imported.counts, differing)}."), soft_wrap=True)
    if campaign is not None:
        output.print(Text(f"{count_of(imported.enrolled, 'prospect')} came into {campaign}."), soft_wrap=True)
    if imported.fields:
        output.print(Text(f"Templates know the fields {', '.join(imported.fields)}."), soft_wrap=True)
    for row in shown:
        told = Text(f"  line {row.line}: {row.outcome}: {_printable(row.reason)}")
        output.print(told, soft_wrap=True, style="red" if row.outcome is RowOutcome.REFUSED else "")
    more = imported.counts[RowOutcome.REFUSED] + imported.counts[RowOutcome.DUPLICATE] - len(shown)
    if more > 0:
        where = f"{report} has them all" if report else "--report FILE writes them all down"
        output.print(Text(f"  … and {more:,} more; {where}."), soft_wrap=True)


def _in_words(counts: Mapping[str, int], differing: int) -> str:
    """`2 added, 0 updated, 1 unchanged (1 differs; --update would change it), …`"""
    asides = {RowOutcome.UNCHANGED.value: _differing_in_words(differing)}
    return ", ".join(f"{count:,} {outcome}{asides.get(outcome, '')}" for outcome, count in counts.items())


def _differing_in_words(count: int) -> str:
    if not count:
        return ""
    return f" ({count:,} {'differs; --update would change it' if count == 1 else 'differ; --update would change them'})"


@contextmanager
def _written(path: Path | None) -> Iterator[Heard]:
    """Rows go into a file, if one was named."""
    if path is None:
        yield lambda _: None
        return
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(_HEADINGS)
        yield lambda row: writer.writerow(_cells(row))


def _cells(row: RowReport) -> list[str]:
    told = (row.line, row.outcome, row.address, row.id or "", "yes" if row.enrolled else "", row.reason)
    return [_harmless(str(each)) for each in told]


def _harmless(cell: str) -> str:
    """As a text, also for a spreadsheet: what the file says may be anybody's."""
    return f"'{cell}" if cell.startswith(_WORKED_OUT) else cell


@contextmanager
def _progress(table: Table) -> Iterator[Callable[[], None]]:
    """A bar on standard error where somebody looks."""
    console = standard_error()
    if not console.is_terminal:
        yield lambda: None
        return
    with Progress(TextColumn("importing"), BarColumn(), TaskProgressColumn(), console=console, transient=True) as bar:
        task, shown = bar.add_task("importing", total=table.size), 0

        def tell() -> None:
            nonlocal shown
            if table.position != shown:  # the file is read in larger pieces than rows
                shown = table.position
                bar.update(task, completed=shown)

        yield tell


def _record(row: RowReport) -> dict[str, object]:
    return {
        "line": row.line,
        "outcome": row.outcome,
        "address": row.address,
        "id": row.id,
        "enrolled": row.enrolled,
        "reason": row.reason,
    }


def _printable(text: str) -> str:
    """A terminal obeys control characters, and this came from a file."""
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text)

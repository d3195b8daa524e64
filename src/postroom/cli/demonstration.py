"""See it work: demo."""

from __future__ import annotations

import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from postroom.cli.desk import Desk, LogLevel
from postroom.cli.overview import Overview, sum_in_words
from postroom.cli.problems import ExitCode
from postroom.cli.screen import standard_output
from postroom.cli.tables import counts_table, emails_table
from postroom.outbox import Outbox
from postroom.store.contract import StoredEmail

if TYPE_CHECKING:
    from postroom.demo.story import Arrivals


def demo(
    desk: Desk,
    directory: Annotated[
        Path | None, typer.Option(help="Where to keep the database; else a new temporary folder.", file_okay=False)
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Play the story and leave.")] = False,
) -> None:
    """Watch emails survive an outage: SQLite, a worker and a mail server in one process, nothing to install."""
    from postroom.demo.story import IMPATIENT, SENDER, Story  # no other command needs it
    from postroom.embedded import WorkerThread
    from postroom.testing import ScriptedSmtp

    desk.prepare(quiet=LogLevel.ERROR)  # the story itself says what goes wrong
    folder = _folder(directory)
    url = f"sqlite:///{folder / 'demo.db'}"
    output = standard_output()
    with (
        ScriptedSmtp() as server,
        Outbox(url, tables=desk.tables, smtp=server.url, sender=SENDER, policies={"impatient": IMPATIENT}) as outbox,
    ):
        outbox.migrate()
        story = Story(outbox, server)
        with WorkerThread(outbox.settings, grace="5s"):
            for scene in (story.fair_weather(), story.outage()):
                _tell(output, scene)
            with _progress(output) as progress:
                _tell(output, story.recovery(progress))
        arrivals = story.arrivals()
        emails = outbox.list(limit=20).emails
        _print_outbox(output, emails, Overview.of(outbox, conservation=True))
    _print_arrivals(output, arrivals)
    _print_next_steps(output, url, emails)
    if not arrivals.well:
        raise typer.Exit(ExitCode.NOT_DONE)


def _tell(output: Console, scene: Iterator[str]) -> None:
    for line in scene:
        output.print(Text(f"• {line}"), soft_wrap=True)


@contextmanager
def _progress(output: Console) -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal; elsewhere the lines before and after it say enough."""
    columns = TextColumn("  delivered"), BarColumn(), MofNCompleteColumn()
    with Progress(*columns, console=output, disable=not output.is_terminal) as progress:
        task = progress.add_task("delivered", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def _print_arrivals(output: Console, arrivals: Arrivals) -> None:
    told = f"{arrivals.arrived} of {arrivals.enqueued} emails arrived"
    if arrivals.well:
        output.print(Text(f"{told}, each of them once.", style="green"))
        return
    output.print(Text(f"{told}; {arrivals.missing} are missing, {arrivals.twice} came twice.", style="bold red"))


def _folder(directory: Path | None) -> Path:
    if directory is None:
        return Path(tempfile.mkdtemp(prefix="postroom-demo-"))
    directory.mkdir(parents=True, exist_ok=True)
    return directory.resolve()


def _print_outbox(output: Console, emails: tuple[StoredEmail, ...], overview: Overview) -> None:
    assert overview.conservation is not None
    output.print(Text("\nThe outbox\n", style="bold"))
    output.print(emails_table(emails, now=datetime.now(UTC), width=output.width))
    output.print()
    output.print(counts_table({status: count for status, count in overview.counts.items() if count}))
    output.print(Text(f"\nNothing is lost: {sum_in_words(overview.conservation)}", style="green"))


def _print_next_steps(output: Console, url: str, emails: tuple[StoredEmail, ...]) -> None:
    program = program_name()
    some = emails[0]
    output.print(Text("\nTry next\n", style="bold"))
    for command in (
        f"export POSTROOM_DATABASE={shlex.quote(url)}",
        f"{program} list --recipient ada@example.org",
        f"{program} show {some.id}",
        f"{program} show {some.id} --source",
        f"{program} send --to grace@example.org --subject Hello --text 'Is anybody there?'",
        f"{program} cancel --recipient grace@example.org --status pending --yes",
        f"{program} stats --check",
        f"{program} doctor",
    ):
        output.print(Text(f"  {command}"), soft_wrap=True)


def program_name() -> str:
    """How this command can be called again from here."""
    if shutil.which("postroom"):
        return "postroom"
    called = Path(sys.argv[0])
    if called.name == "postroom" and called.is_file():
        return shlex.quote(sys.argv[0])
    return f"{shlex.quote(sys.executable)} -m postroom.cli"

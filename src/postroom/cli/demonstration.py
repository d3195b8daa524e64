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

from postroom.cli.problems import ExitCode
from postroom.cli.screen import standard_output
from postroom.cli.stopping import Stop
from postroom.cli.tables import counts_table, emails_table
from postroom.cli.target import LogLevel, Target
from postroom.config import load
from postroom.operate.sentences import sum_in_words
from postroom.outbox import Outbox
from postroom.store.contract import Conservation, StoredEmail

if TYPE_CHECKING:
    from collections import Counter

    from postroom.demo.story import Arrivals, Story
    from postroom.inbox import DevInbox


def demo(
    target: Target,
    directory: Annotated[
        Path | None, typer.Option(help="Where to keep the database; else a new temporary folder.", file_okay=False)
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Play the story and leave; serve nothing.")] = False,
    port: Annotated[int, typer.Option(help="Of the admin app; 0 for any that is free.", min=0, max=65_535)] = 8090,
    inbox_port: Annotated[int, typer.Option(help="Of the dev inbox's page; 0 likewise.", min=0, max=65_535)] = 8025,
) -> None:
    """Watch emails survive an outage: SQLite, worker, admin app and dev inbox in one process."""
    target.prepare(quiet=LogLevel.ERROR)  # the story itself says what goes wrong
    url = f"sqlite:///{_folder(directory) / 'demo.db'}"
    if once:
        _play_once(target, url)
    else:
        _serve(target, url, port=port, inbox_port=inbox_port)


def _play_once(target: Target, url: str) -> None:
    from postroom.demo.story import Story
    from postroom.testing import ScriptedSmtp

    output = standard_output()
    with (
        ScriptedSmtp() as server,
        ScriptedSmtp() as backup,
        _outbox(target, url, server.url) as outbox,
        _outbox(target, url, server.url, backup=backup.url) as covered,
    ):
        story = Story(outbox, server, backup)
        _play_waiting(output, story)
        _play_covered(output, story, covered)
        arrivals, emails = story.arrivals(), covered.list(limit=30).emails
        _print_outbox(output, emails, covered.conservation())
    _print_arrivals(output, arrivals)
    _print_next_steps(output, url, emails)
    if not arrivals.well:
        raise typer.Exit(ExitCode.NOT_DONE)


def _serve(target: Target, url: str, *, port: int, inbox_port: int) -> None:
    """Play the story, then leave everything on until somebody stops it."""
    from postroom.demo.house import DeskThread, Guests, let_in
    from postroom.demo.story import Story
    from postroom.inbox import DevInbox
    from postroom.work.thread import WorkerThread

    output = standard_output()
    with (
        Stop() as stop,
        DevInbox(port=inbox_port) as inbox,
        DevInbox() as backup,
        _outbox(target, url, inbox.smtp_url) as outbox,
        _outbox(target, url, inbox.smtp_url, backup=backup.smtp_url) as covered,
    ):
        let_in(outbox)
        story = Story(outbox, _Switched(inbox), _Switched(backup))
        with DeskThread(outbox.settings, port=port) as served:
            _print_addresses(output, served.url, inbox.url, backup.url)
            _play_waiting(output, story)
        with DeskThread(covered.settings, port=served.port):  # the same address, with the new settings
            _play_covered(output, story, covered)
            _print_arrivals(output, story.arrivals())
            with WorkerThread(covered, grace="5s"):
                guests = Guests(story)
                guests.start()
                _print_what_to_try(output)
                output.file.flush()
                stop.wait()
                guests.leave()


class _Switched:
    """The dev inbox as the story's mail server: its chaos switch takes it away and brings it back."""

    def __init__(self, inbox: DevInbox) -> None:
        self._inbox = inbox

    def stop(self) -> None:
        self._inbox.switch_on("refuse")

    def start(self) -> None:
        self._inbox.switch_off("refuse")

    def copies_of_all(self) -> Counter[str]:
        return self._inbox.copies_of_all()


@contextmanager
def _outbox(target: Target, url: str, smtp: str, *, backup: str | None = None) -> Iterator[Outbox]:
    """An outbox with these ways out. Rules of the user's own lead elsewhere, and hold for none of the demo's emails."""
    from postroom.demo.story import IMPATIENT, SENDER

    routes = {"default": {"transport": None, "fallback": "backup" if backup else None}}
    if backup:
        routes["backup"] = {"transport": backup, "fallback": None}
    settings = load(
        database=url,
        tables=target.tables,
        smtp=smtp,
        routes=routes,
        routing=(),
        sender=SENDER,
        deployment="",
        delivery="deliver",
        policies={"impatient": IMPATIENT},
    )
    with Outbox.from_settings(settings) as outbox:
        outbox.migrate()
        yield outbox


def _play_waiting(output: Console, story: Story) -> None:
    """An outage that is waited out."""
    from postroom.work.thread import WorkerThread

    with WorkerThread(story.outbox, grace="5s"):
        _tell(output, story.fair_weather())
        _tell(output, story.outage())
        with _progress(output) as progress:
            _tell(output, story.recovery(progress))


def _play_covered(output: Console, story: Story, covered: Outbox) -> None:
    """An outage that a fallback covers."""
    from postroom.work.thread import WorkerThread

    _tell(output, story.rent_backup(covered))
    with WorkerThread(covered, grace="5s"), _progress(output) as progress:
        _tell(output, story.covered_outage(progress))
        _tell(output, story.return_home(progress))


def _print_addresses(output: Console, desk_url: str, inbox_url: str, backup_url: str) -> None:
    from postroom.demo.house import KEEPER, PASSWORD

    lines = {
        "Admin app": desk_url,
        "Sign in as": f"{KEEPER}, password «{PASSWORD}»; the code arrives in the dev inbox",
        "Dev inbox": f"{inbox_url}/",
        "Its backup": f"{backup_url}/",
    }
    for name, value in lines.items():
        output.print(Text(f"{name:<12} ", style="bold") + Text(value), soft_wrap=True)
    output.print()


def _print_what_to_try(output: Console) -> None:
    output.print(Text("\nGuests go on writing. Try next\n", style="bold"))
    for line in (
        "sign in to the admin app, and read the code in the dev inbox",
        "switch on trouble in the dev inbox (refuse, 4xx, 5xx, slow, drop) and watch the dashboard and the backup",
        "open an email in the queue: why it waits, what happens next, what the server said",
        "correct a dead one and replay it",
    ):
        output.print(Text(f"  • {line}"), soft_wrap=True)
    output.print(Text("\nCtrl-C ends the demo."))


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
        covered = f"{arrivals.by_backup} of them left by the backup"
        output.print(Text(f"{told}, each of them once; {covered}.", style="green"))
        return
    output.print(Text(f"{told}; {arrivals.missing} are missing, {arrivals.twice} came twice.", style="bold red"))


def _folder(directory: Path | None) -> Path:
    if directory is None:
        return Path(tempfile.mkdtemp(prefix="postroom-demo-"))
    directory.mkdir(parents=True, exist_ok=True)
    return directory.resolve()


def _print_outbox(output: Console, emails: tuple[StoredEmail, ...], sums: Conservation) -> None:
    output.print(Text("\nThe outbox\n", style="bold"))
    output.print(emails_table(emails, now=datetime.now(UTC), width=output.width))
    output.print()
    output.print(counts_table({status: count for status, count in sums.counts.items() if count}))
    output.print(Text(f"\nNothing is lost: {sum_in_words(sums)}", style="green"))


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

"""Whose database this is: deployment show, adopt."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from postroom.accounts.audit import write_audit
from postroom.cli.asking import ask_first
from postroom.cli.choice import Json, machine_user
from postroom.cli.command import command
from postroom.cli.moments import exact
from postroom.cli.screen import print_json, standard_error, standard_output
from postroom.cli.target import Target
from postroom.errors import ConfigurationError, WrongDeployment
from postroom.operate.wording import count_of
from postroom.outbox import Outbox
from postroom.send.delivery_mode import mode_in, sentence_in
from postroom.store.acts import ABANDONED
from postroom.store.deployment import Stamp, adopt, refusal, stamp
from postroom.store.heartbeats import workers
from postroom.store.overview import clock
from postroom.store.plan import Plan, drive

AT_WORK = timedelta(minutes=1)
"""A worker that was heard of within this time may still be at work."""


def show(target: Target, json: Json = False) -> None:
    """Whose database this is, for whom this process is configured, and who gets what is sent from here."""
    with target.outbox() as outbox:
        found = outbox.database.run(stamp(), writes=False)
        settings = outbox.settings
    foreign, mode = refusal(found, settings.deployment), mode_in(settings.delivery)
    if json:
        stamped = {"name": found.name, "id": found.id, "stamped_at": found.stamped_at.isoformat()} if found else None
        configured = settings.deployment or None
        print_json({"stamped": stamped, "configured": configured, "sends": foreign is None, "delivery": mode})
        return
    output = standard_output()
    whose = f"{found.name} (id {found.id}, since {exact(found.stamped_at)})" if found else "nobody in particular"
    output.print(Text(f"The database belongs to {whose}."), soft_wrap=True)
    output.print(Text(f"This process is configured for {settings.deployment or 'no deployment'}."), soft_wrap=True)
    output.print(Text(f"Delivery: {mode}. {sentence_in(settings.delivery)}"), soft_wrap=True)
    if foreign is not None:
        output.print(Text(f"Nothing is sent: {foreign}.", style="bold red"), soft_wrap=True)


def adopt_copy(
    target: Target,
    cancel_waiting: Annotated[
        bool, typer.Option("--cancel-waiting", help="Cancel what waits in it: the original sends that.")
    ] = False,
    keep_waiting: Annotated[
        bool, typer.Option("--keep-waiting", help="Send what waits in it: there is no original any more.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: Json = False,
) -> None:
    """Make a copied database this deployment's own. Stop whoever sends from it first."""
    if cancel_waiting == keep_waiting:
        raise ConfigurationError("say what becomes of the emails that wait: --cancel-waiting or --keep-waiting")
    with target.outbox() as outbox:
        name = outbox.settings.deployment
        if not name:
            raise ConfigurationError("say whose it is to be: set POSTROOM_DEPLOYMENT, such as staging")
        found = outbox.database.run(_adoptable(name), writes=False)
        waiting = sum(outbox.counts()[status] for status in ABANDONED)
        if not yes:
            fate = f"{'cancel' if cancel_waiting else 'send'} the {count_of(waiting, 'email')} in it"
            ask_first(f"make the database of {found.name if found else 'nobody'} that of {name}, and {fate}")
        cancelled = _carry_out(outbox, name, cancel_waiting=cancel_waiting, waiting=waiting)
    if json:
        print_json({"from": found.name if found else None, "to": name, "cancelled": cancelled})
        return
    said = f"{count_of(cancelled, 'email')} cancelled" if cancel_waiting else f"{count_of(waiting, 'email')} kept"
    standard_output().print(Text(f"The database belongs to {name} now; {said}."), soft_wrap=True)


def _adoptable(name: str) -> Plan[Stamp | None]:
    """Whose it is, provided that it is not ours already and that nobody seems to work on it."""
    found, now = (yield from stamp()), (yield from clock())
    if found is not None and found.name == name:
        raise WrongDeployment(f"the database belongs to {name} already; nothing was changed")
    if [each for each in (yield from workers()) if now - each.seen_at < AT_WORK]:
        raise WrongDeployment(
            "somebody was at work on this database within the last minute; stop workers, schedulers and senders, or "
            "wait a minute where they came with the copy, and try again; nothing was changed"
        )
    return found


def _carry_out(outbox: Outbox, name: str, *, cancel_waiting: bool, waiting: int) -> int:
    def note(before: Stamp | None, cancelled: int) -> Plan[None]:
        was = before.name if before else None
        yield from write_audit(machine_user(), "deployment_adopt", was=was, now=name, cancelled=cancelled)

    with _progress(waiting if cancel_waiting else 0) as progress:
        course = adopt(name, cancel_waiting=cancel_waiting, actor=machine_user(), progress=progress, note=note)
        return drive(course, outbox.database.run)


@contextmanager
def _progress(count: int) -> Iterator[Callable[[int], None]]:
    """A bar on standard error where somebody looks."""
    console = standard_error()
    if not console.is_terminal or not count:
        yield lambda done: None
        return
    columns = (TextColumn("cancelling"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("cancelling", total=count)
        yield lambda done: bar.update(task, completed=done)


COMMANDS: dict[str, Callable[..., None]] = {"show": show, "adopt": adopt_copy}

app = typer.Typer(help="Whose database this is, and what becomes of a copy.", no_args_is_help=True)

for command_name, function in COMMANDS.items():
    app.command(command_name)(command(function))

"""All commands, in the order in which `postroom --help` lists them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from postroom import __version__
from postroom.cli import (
    acting,
    demonstration,
    deployment,
    dispatching,
    doctor,
    events,
    inbox,
    people,
    pruning,
    reading,
    replaying,
    routes,
    schema,
    send,
    web,
    working,
)
from postroom.cli.command import command
from postroom.cli.target import Target

app = typer.Typer(
    help="The reliable email outbox: every email your application commits is sent, or you can see why not.",
    epilog="Exit codes: 0 done · 1 not found, not applicable, or a problem found · 2 usage or configuration · "
    "3 database unreachable.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _tell_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"postroom {__version__}")
        raise typer.Exit


@app.callback()
@command
def postroom(
    target: Target,
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_tell_version, help="Tell the version and leave.")
    ] = False,
) -> None:
    """Keeps what was said before the name of a command, for the command."""
    context.obj = target


COMMANDS: dict[str, Callable[..., None]] = {
    "demo": demonstration.demo,
    "migrate": schema.migrate,
    "doctor": doctor.doctor,
    "worker": working.worker,
    "scheduler": dispatching.scheduler,
    "sender": dispatching.sender,
    "web": web.web,
    "inbox": inbox.inbox,
    "send": send.send,
    "list": reading.list_emails,
    "show": reading.show,
    "stats": reading.stats,
    "events": events.events,
    "retry": acting.retry,
    "dismiss": acting.dismiss,
    "cancel": acting.cancel,
    "replay": replaying.replay,
    "prune": pruning.prune,
}

for name, function in COMMANDS.items():
    app.command(name)(command(function))

app.add_typer(routes.app, name="route")
app.add_typer(routes.app, name="transport", hidden=True)  # what it was called before
app.add_typer(deployment.app, name="deployment")
app.add_typer(people.app, name="user")

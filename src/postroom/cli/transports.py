"""Ways out: transport list, pause, resume."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer
from rich.text import Text

from postroom.cli.choice import Json, machine_user
from postroom.cli.command import command
from postroom.cli.moments import exact
from postroom.cli.screen import print_json, standard_error, standard_output
from postroom.cli.tables import bare_table
from postroom.cli.target import Target
from postroom.operate.ways_out import pause_transport, resume_transport
from postroom.work.breakers import known_routes

Transport = Annotated[str, typer.Argument(help="As `transport list` spells it.", metavar="NAME")]


def list_transports(target: Target, json: Json = False) -> None:
    """Every way out that workers have used, and how it is doing."""
    with target.outbox() as outbox:
        known = outbox.database.run(known_routes(), writes=False)
    if json:
        records = [
            {
                "name": each.name,
                "state": each.breaker.state,
                "reason": each.breaker.reason,
                "since": each.breaker.since.isoformat() if each.breaker.since else None,
            }
            for each in known
        ]
        print_json({"transports": records})
        return
    if not known:
        standard_error().print(Text("No worker has used a transport yet."))
        return
    table = bare_table("name", "state", "since", "reason")
    for each in known:
        since = exact(each.breaker.since) if each.breaker.since else ""
        table.add_row(*map(Text, (each.name, each.breaker.state, since, each.breaker.reason)))
    standard_output().print(table)


def pause(
    target: Target,
    name: Transport,
    reason: Annotated[str, typer.Option(help="Why; shown on the dashboard.", metavar="TEXT")] = "paused on the host",
) -> None:
    """Stop a transport until a person resumes it. Its emails wait and lose no attempt."""
    with target.outbox() as outbox:
        outbox.database.run(pause_transport(name, reason, machine_user()))
    standard_output().print(Text(f"{name} is paused; its emails wait until somebody resumes it."), soft_wrap=True)


def resume(target: Target, name: Transport) -> None:
    """Let a transport send again; the next attempt shows whether it is well."""
    with target.outbox() as outbox:
        outbox.database.run(resume_transport(name, machine_user()))
    standard_output().print(Text(f"{name} is resumed."), soft_wrap=True)


COMMANDS: dict[str, Callable[..., None]] = {"list": list_transports, "pause": pause, "resume": resume}

app = typer.Typer(help="Ways out: how they are doing, and whether they may send.", no_args_is_help=True)

for command_name, function in COMMANDS.items():
    app.command(command_name)(command(function))

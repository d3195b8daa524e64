"""Ways out: route list, pause, resume, move."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer
from rich.text import Text

from postroom.cli.asking import ask_first
from postroom.cli.choice import Json, machine_user
from postroom.cli.command import command
from postroom.cli.screen import print_json, standard_error, standard_output
from postroom.cli.tables import routes_table
from postroom.cli.target import Target
from postroom.errors import ConfigurationError
from postroom.operate.records import route_record
from postroom.operate.wording import count_of

Route = Annotated[str, typer.Argument(help="As `route list` spells it.", metavar="NAME")]


def list_routes(target: Target, json: Json = False) -> None:
    """Every way out that workers have used or the settings know, and how it is doing."""
    with target.operations() as operations:
        routes = operations.routes()
    if json:
        print_json({"transports": [route_record(route) for route in routes]})
    elif routes:
        standard_output().print(routes_table(routes))
    else:
        standard_error().print(Text("No route is known: the settings name none, and no worker has used one yet."))


def pause(
    target: Target,
    name: Route,
    reason: Annotated[str, typer.Option(help="Why; shown on the overview.", metavar="TEXT")] = "paused on the host",
) -> None:
    """Stop a route until a person resumes it. Its emails wait and lose no attempt."""
    with target.operations() as operations:
        operations.pause_route(name, reason, machine_user())
    standard_output().print(Text(f"{name} is paused; its emails wait until somebody resumes it."), soft_wrap=True)


def resume(target: Target, name: Route) -> None:
    """Let a route send again; the next attempt shows whether it is well."""
    with target.operations() as operations:
        operations.resume_route(name, machine_user())
    standard_output().print(Text(f"{name} is resumed."), soft_wrap=True)


def move(
    target: Target,
    name: Annotated[str, typer.Argument(help="The route that emails wait for.", metavar="FROM")],
    to: Annotated[str, typer.Argument(help="The route that they are to leave by.", metavar="TO")],
    limit: Annotated[int | None, typer.Option(min=1, help="At most this many, those whose turn comes first.")] = None,
    sensitive: Annotated[
        bool, typer.Option("--sensitive", help="Sensitive emails too; the codes of sign-ins stay in any case.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count; change nothing.")] = False,
    json: Json = False,
) -> None:
    """Let emails that wait for one route leave by another. What a worker has in hand stays where it is."""
    if name == to:
        raise ConfigurationError(f"emails that wait for {name} leave by {to} already; name two routes")
    with target.operations() as operations:
        waiting = next((route.waiting or 0 for route in operations.routes() if route.name == name), 0)
        emails = waiting if limit is None else min(limit, waiting)
        if not dry_run:
            if emails and not yes:
                ask_first(f"move {count_of(emails, 'email')} from {name} to {to}")
            emails = operations.move_route(name, to, machine_user(), limit=limit, sensitive=sensitive)
    if json:
        print_json({"from": name, "to": to, "dry_run": dry_run, "moved": emails})
    else:
        said = f"would move {count_of(emails, 'email')}" if dry_run else f"moved {count_of(emails, 'email')}"
        standard_output().print(Text(f"{said} from {name} to {to}"), soft_wrap=True)


COMMANDS: dict[str, Callable[..., None]] = {"list": list_routes, "pause": pause, "resume": resume, "move": move}

app = typer.Typer(help="Ways out: how they are doing, and whether they may send.", no_args_is_help=True)

for command_name, function in COMMANDS.items():
    app.command(command_name)(command(function))

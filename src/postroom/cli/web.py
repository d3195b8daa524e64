"""The command that serves the admin app."""

from __future__ import annotations

import asyncio
import signal
import socket
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from postroom.accounts.accounts import check_somebody_is_there, everybody
from postroom.cli.screen import standard_error
from postroom.cli.secrets import masked
from postroom.cli.target import Target
from postroom.config import Settings
from postroom.errors import ConfigurationError, PostroomError
from postroom.outbox import AsyncOutbox
from postroom.regions import AsyncRegions

if TYPE_CHECKING:
    from starlette.types import ASGIApp

PORT = 8090
PLACES = 500


def web(
    target: Target,
    host: Annotated[str, typer.Option(help="The address to listen at; this machine only unless told otherwise.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(help="The port; 0 for any that is free.", min=0, max=65_535)] = PORT,
    dev: Annotated[
        bool, typer.Option("--dev", help="For development: whoever sits at this machine needs no sign-in.")
    ] = False,
    connections: Annotated[int, typer.Option(help="How many connections are held at once.", min=1)] = PLACES,
) -> None:
    """Serve the admin app: the dashboard, the email queue and the JSON API."""
    if dev and not is_loopback(host):
        raise ConfigurationError(
            f"--dev lets everybody in who reaches the app, and {host} is reached from other machines; leave one out"
        )
    everywhere = target.names_no_region()
    serve = _all_regions(target, dev=dev) if everywhere else _one_outbox(target, dev=dev)
    listening = listen(host, port)
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve(serve, listening, path="/regions" if everywhere else "/admin", dev=dev, places=connections))


Opened = Callable[[AsyncExitStack], Awaitable["ASGIApp"]]
"""Opens what an app needs, which is closed with the stack, and makes the app."""


def _one_outbox(target: Target, *, dev: bool) -> Opened:
    """The admin app of one outbox, in which somebody can sign in."""
    with target.outbox() as outbox:
        if not dev:
            outbox.database.run(check_somebody_is_there(), writes=False)
    settings = target.settings()

    async def opened(stack: AsyncExitStack) -> ASGIApp:
        from postroom.web import admin

        return admin(await stack.enter_async_context(AsyncOutbox.from_settings(settings)), dev=dev)

    return opened


def _all_regions(target: Target, *, dev: bool) -> Opened:
    """One desk over all regions. It starts where a region is away, and where nobody can sign in to one of them yet."""
    shared = target.all_regions()
    if not dev:
        _tell_where_nobody_is(target, shared)

    async def opened(stack: AsyncExitStack) -> ASGIApp:
        from postroom.web import desk

        return desk(await stack.enter_async_context(AsyncRegions.from_settings(shared)), dev=dev)

    return opened


def _tell_where_nobody_is(target: Target, shared: Settings) -> None:
    """Where nobody can sign in yet, and where that cannot be seen; refuses where it is so everywhere."""
    nowhere = 0
    for name in shared.regions:
        told = ""
        try:
            with target.of_region(name).outbox() as outbox:
                if not outbox.database.run(everybody(), writes=False):
                    nowhere, told = nowhere + 1, f"nobody may sign in yet: postroom user add --region {name} …"
        except (PostroomError, sqlite3.Error) as error:
            told = masked(str(error))
        if told:
            standard_error().print(Text(f"{name}: {told}"), soft_wrap=True)
    if nowhere == len(shared.regions):
        raise ConfigurationError("nobody may sign in to any region yet; add somebody first, or serve it with --dev")


async def _serve(opened: Opened, listening: socket.socket, *, path: str, dev: bool, places: int) -> None:
    async with AsyncExitStack() as stack:
        app = await opened(stack)
        _tell_address(listening, path, dev=dev)
        await _run(app, listening, connections=places)


async def _run(app: ASGIApp, listening: socket.socket, *, connections: int) -> None:
    """Serve until asked to stop; what is being answered is finished first."""
    from postroom.admin.serving import Config, Server

    server = Server(Config(app, places=connections))

    def stop() -> None:
        server.should_exit = True

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    await server.serve(sockets=[listening])


def listen(host: str, port: int) -> socket.socket:
    """A socket of our own, so that a port that is taken is told before anything else happens."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise ConfigurationError(
            f"cannot listen at {host} port {port}: {error.strerror or error}; choose another --port or --host"
        ) from error


def _tell_address(listening: socket.socket, path: str, *, dev: bool) -> None:
    host, port, *_ = listening.getsockname()
    place = f"[{host}]" if ":" in host else host
    note = "  (--dev: no sign-in on this machine)" if dev else ""
    standard_error().print(Text(f"Postroom's target: http://{place}:{port}{path}{note}"), soft_wrap=True)


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

"""The command that serves the admin app."""

from __future__ import annotations

import asyncio
import signal
import socket
from contextlib import suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from postroom.accounts.accounts import check_somebody_is_there
from postroom.cli.screen import standard_error
from postroom.cli.target import Target
from postroom.config import Settings
from postroom.errors import ConfigurationError
from postroom.outbox import AsyncOutbox

if TYPE_CHECKING:
    from fastapi import FastAPI

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
    with target.outbox() as outbox:
        if not dev:
            outbox.database.run(check_somebody_is_there(), writes=False)
    listening = listen(host, port)
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve(target.settings(), listening, dev=dev, connections=connections))


async def _serve(settings: Settings, listening: socket.socket, *, dev: bool, connections: int) -> None:
    from postroom.web import admin

    async with AsyncOutbox(settings.database.get_secret_value(), tables=settings.tables) as outbox:
        app = admin(outbox, dev=dev)
        _tell_address(listening, dev=dev)
        await _run(app, listening, connections=connections)


async def _run(app: FastAPI, listening: socket.socket, *, connections: int) -> None:
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


def _tell_address(listening: socket.socket, *, dev: bool) -> None:
    host, port, *_ = listening.getsockname()
    place = f"[{host}]" if ":" in host else host
    note = "  (--dev: no sign-in on this machine)" if dev else ""
    standard_error().print(Text(f"Postroom's target: http://{place}:{port}/admin{note}"), soft_wrap=True)


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

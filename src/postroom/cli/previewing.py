"""Looking at templates while they are written: template preview."""

from __future__ import annotations

import asyncio
import signal
import webbrowser
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from postroom.cli.screen import standard_error, standard_output
from postroom.cli.target import Target
from postroom.errors import ConfigurationError

if TYPE_CHECKING:
    import socket

    from postroom.gallery.site import Preview

PORT = 8091
PLACES = 200


def preview(
    target: Target,
    port: Annotated[int, typer.Option(help="Where the page is; 0 for a free port.", min=0, max=65535)] = PORT,
    host: Annotated[str, typer.Option(help="The address to listen on; beyond this machine, nothing is sent.")] = (
        "127.0.0.1"
    ),
    allow_host: Annotated[
        list[str] | None, typer.Option(help="Another name the page may be asked for by; may be given several times.")
    ] = None,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """Show every template in every language with every sample, on a page that follows the files."""
    from postroom.cli.web import is_loopback, listen  # no other command of its group needs them

    house = _house(target, may_send=is_loopback(host))
    listening = listen(host, port)
    url = _url(listening)
    standard_output().print(Text("Templates    ", style="bold") + Text(f"{url}/templates"), soft_wrap=True)
    standard_output().file.flush()
    if not is_loopback(host):
        standard_error().print(f"Whoever can reach {host} can look at these templates. Nothing is sent from there.")
    if open_browser:
        webbrowser.open(f"{url}/templates")
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve(house, listening, allowed_hosts=[host, *(allow_host or ())]))


def _house(target: Target, *, may_send: bool) -> Preview:
    """The page's own things; the portals are found now, so that what is wrong with them is told here."""
    from postroom.cli.templates import known_portals  # which has this command among its own

    try:
        from postroom.gallery.collection import Collection
        from postroom.gallery.site import Preview
    except ImportError as error:
        raise ConfigurationError(f"the preview needs {error.name}; pip install 'postroom[web]' brings it") from error
    portals = known_portals(target)
    collection = Collection(lambda: portals, live=True)
    return Preview(collection, target.outbox if may_send else None)


async def _serve(house: Preview, listening: socket.socket, *, allowed_hosts: list[str]) -> None:
    """Until asked to stop."""
    from postroom.admin.serving import Config, Server
    from postroom.gallery.site import build

    app = build(house, allowed_hosts=allowed_hosts)
    server = Server(Config(app, places=PLACES, timeout_graceful_shutdown=2))

    def stop() -> None:
        house.shown.close()
        server.should_exit = True

    Thread(target=house.shown.check_all, name="postroom-gallery", daemon=True).start()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    await server.serve(sockets=[listening])


def _url(listening: socket.socket) -> str:
    host, port, *_ = listening.getsockname()
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"

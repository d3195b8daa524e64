"""Reading what your application sends: inbox."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from postroom.cli.screen import standard_error, standard_output
from postroom.cli.stopping import Stop
from postroom.cli.target import Target
from postroom.errors import ConfigurationError

FILE = Path("postroom-inbox.db")
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def inbox(
    target: Target,
    smtp_port: Annotated[int, typer.Option(help="Where mail is taken; 0 for a free port.", min=0, max=65535)] = 1025,
    port: Annotated[int, typer.Option(help="Where the page is; 0 for a free port.", min=0, max=65535)] = 8025,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    allow_host: Annotated[
        list[str] | None, typer.Option(help="Another name the page may be asked for by; may be given several times.")
    ] = None,
    file: Annotated[Path, typer.Option(help="Where the mail is kept.", dir_okay=False)] = FILE,
    keep: Annotated[int, typer.Option(help="How many messages are kept; the oldest go first.", min=1)] = 5_000,
) -> None:
    """Take every email, send none on, and show them on a page. For development only."""
    from postroom.inbox.server import DevInbox  # no other command needs it
    from postroom.inbox.shelf import Room
    from postroom.templates.found import find_portals

    running = DevInbox(
        file=_file(target, file),
        smtp_port=smtp_port,
        port=port,
        host=host,
        allowed_hosts=allow_host or (),
        room=Room(messages=keep),
        portals=lambda: find_portals(target.settings().portals),
    )
    with Stop() as stop, running:
        _introduce(running.smtp_url, running.url)
        if host not in _LOOPBACK:
            standard_error().print(f"Whoever can reach {host} can read this mail: the inbox asks nobody to sign in.")
        stop.wait()


def _file(target: Target, file: Path) -> Path:
    """`--database` is understood too, for those who say it everywhere; the outbox's own setting is not meant."""
    if target.database is None:
        return file
    if not target.database.startswith("sqlite:///"):
        raise ConfigurationError("the inbox keeps mail on SQLite only; name a file with --file")
    return Path(target.database.removeprefix("sqlite:///"))


def _introduce(smtp_url: str, url: str) -> None:
    output = standard_output()
    for name, value in (("Mail server", smtp_url), ("Page", f"{url}/"), ("Set", f"POSTROOM_SMTP={smtp_url}")):
        output.print(Text(f"{name:<12} ", style="bold") + Text(value), soft_wrap=True)
    output.file.flush()

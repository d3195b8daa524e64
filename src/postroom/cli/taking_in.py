"""Taking in what comes back: from standard input, from a Maildir, by LMTP or SMTP."""

from __future__ import annotations

import asyncio
import json as json_format
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from postroom.cli.problems import tell
from postroom.cli.screen import somebody_is_there, standard_error
from postroom.cli.stopping import Stop
from postroom.cli.target import Target
from postroom.cli.watching import AWAY, interval_in_seconds
from postroom.errors import ConfigurationError, StoreUnavailable

if TYPE_CHECKING:
    from postroom.outbox import Outbox
    from postroom.returns.intake import Taken, Taker
    from postroom.smtpd import MailServer
    from postroom.store.returns import Noted

STANDARD_INPUT = "-"
_PANEL = "Where messages are taken from"


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    """Where messages are taken from; standard input, if nothing else is said."""

    maildir: Annotated[
        Path | None,
        typer.Option(
            help="A Maildir: what is in it is taken in, and moved into its folder .taken.",
            metavar="PATH",
            rich_help_panel=_PANEL,
        ),
    ] = None
    watch: Annotated[
        bool, typer.Option("--watch", help="With --maildir: go on as messages come.", rich_help_panel=_PANEL)
    ] = False
    interval: Annotated[
        str, typer.Option(help="With --watch: how often to look.", metavar="TIME", rich_help_panel=_PANEL)
    ] = "5s"
    lmtp: Annotated[
        str | None,
        typer.Option(
            help="Listen for LMTP: HOST:PORT, PORT or unix:PATH; on this machine only, unless a host is named.",
            metavar="PLACE",
            rich_help_panel=_PANEL,
        ),
    ] = None
    smtp: Annotated[
        str | None, typer.Option(help="Listen for SMTP, likewise.", metavar="PLACE", rich_help_panel=_PANEL)
    ] = None
    accept_domain: Annotated[
        list[str] | None,
        typer.Option(
            help="With --lmtp or --smtp: take mail to every address of this domain, and not only to the return "
            "address; may be said several times.",
            metavar="DOMAIN",
            rich_help_panel=_PANEL,
        ),
    ] = None

    @property
    def asked(self) -> bool:
        """Whether another place than standard input is named."""
        return self.maildir is not None or self.listens

    @property
    def listens(self) -> bool:
        return self.lmtp is not None or self.smtp is not None

    def check(self) -> None:
        """Refuse what cannot be meant."""
        if self.maildir is not None and self.listens:
            raise ConfigurationError("--maildir does not go with --lmtp and --smtp; run a command for each")
        if self.watch and self.maildir is None:
            raise ConfigurationError("--watch goes with --maildir")
        if self.accept_domain and not self.listens:
            raise ConfigurationError("--accept-domain goes with --lmtp or --smtp")


def take_in(target: Target, intake: Intake, files: Sequence[Path] = (), *, json: bool) -> None:
    """Take in what comes this way, and tell of each message."""
    intake.check()
    told = _as_json if json else _as_line
    if intake.listens:
        with target.outbox() as outbox:
            _listen(outbox, intake, told)
    elif intake.maildir is not None:
        with target.outbox() as outbox:
            _from_maildir(outbox, intake, intake.maildir, told)
    elif files and [str(file) for file in files] != [STANDARD_INPUT]:
        with target.outbox() as outbox:
            _from_files(outbox, files, told)
    else:
        _from_standard_input(target, told)


def _from_standard_input(target: Target, told: Callable[[Taken], str]) -> None:
    """One message. Whatever goes wrong, the mail system is asked to keep it and to try again: never to bounce it."""
    from postroom.returns.intake.standard_input import TRY_AGAIN, take_from

    if somebody_is_there():
        standard_error().print("Reading a message from the terminal; Ctrl-D ends it.")
    try:
        with target.outbox() as outbox:
            _print(told(take_from(sys.stdin.buffer, _taker(outbox))))
    except Exception as error:
        tell(str(error) if isinstance(error, StoreUnavailable | ConfigurationError) else _in_short(error))
        raise typer.Exit(TRY_AGAIN) from error


def _in_short(error: Exception) -> str:
    return f"the message could not be taken in ({type(error).__name__}); it is to be tried again"


def _from_files(outbox: Outbox, files: Sequence[Path], told: Callable[[Taken], str]) -> None:
    from postroom.returns.intake.standard_input import take_from

    taker = _taker(outbox)
    for file in files:
        with file.open("rb") as message:
            _print(told(take_from(message, taker)))


def _from_maildir(outbox: Outbox, intake: Intake, maildir: Path, told: Callable[[Taken], str]) -> None:
    from postroom.returns.intake.maildir import Maildir

    taker, seconds = _taker(outbox), interval_in_seconds(intake.interval)
    looked_through = Maildir(maildir, tell=lambda told: standard_error().print(Text(told)))
    if not intake.watch:
        for taken in looked_through.take_all(taker):
            _print(told(taken))
        return
    with Stop() as stop:
        while not stop.said:
            try:
                for taken in looked_through.take_all(taker):
                    _print(told(taken))
                    if stop.said:
                        return
            except StoreUnavailable:
                standard_error().print(Text(AWAY, style="red"))
            stop.wait(seconds)


def _listen(outbox: Outbox, intake: Intake, told: Callable[[Taken], str]) -> None:
    from postroom.returns.intake.listening import server, taking
    from postroom.smtpd import Protocol
    from postroom.smtpd.server import Place

    taker, takes = _taker(outbox), taking(outbox.settings, intake.accept_domain or ())
    wanted = {Protocol.LMTP: intake.lmtp, Protocol.SMTP: intake.smtp}
    places = {protocol: Place.parse(place) for protocol, place in wanted.items() if place is not None}

    async def listen() -> None:
        servers = [
            server(taker, protocol, place, takes=takes, tell=lambda taken: _print(told(taken)))
            for protocol, place in places.items()
        ]
        await _serve(servers, [protocol.upper() for protocol in places])

    asyncio.run(listen())


async def _serve(servers: list[MailServer], names: list[str]) -> None:
    """Until somebody says stop. Messages that are being taken in come to their end."""
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    try:
        for each, name in zip(servers, names, strict=True):
            await each.open()
            standard_error().print(Text(f"{name} on {each.place}"))
        await stopped.wait()
    finally:
        for each in servers:
            await each.close()


def _taker(outbox: Outbox) -> Taker:
    from postroom.returns.intake import Taker  # no other command needs what reads messages

    return Taker(outbox)


def _as_json(taken: Taken) -> str:
    return json_format.dumps(taken.record(), ensure_ascii=False)


def _as_line(taken: Taken) -> str:
    """In short, and without addresses: what a service prints is a log."""
    if taken.duplicate:
        return f"{taken.kind}: known already"
    return f"{taken.kind}: " + "; ".join(_in_words(each, taken.kind) for each in taken.noted)


def _in_words(noted: Noted, kind: str) -> str:
    note = noted.note
    other = note.what if note.what != kind else ""
    said = " ".join(str(part) for part in (other, note.bounce_class, note.code, note.status) if part)
    about = f"email {noted.email_id}" if noted.email_id else "about no email that is known"
    parts = (said, about, note.problem, "mailed no more" if noted.suppressed else "")
    return ", ".join(part for part in parts if part)


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()

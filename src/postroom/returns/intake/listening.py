"""Messages that a mail system hands over by LMTP or SMTP: it hears 250 when they are in the database, not before."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence

from postroom.compose.return_path import checked_return_address
from postroom.config import Settings
from postroom.errors import ConfigurationError
from postroom.logs import logger
from postroom.returns.intake.taking import READ, Taken, Taker
from postroom.returns.reading.limits import HEADERS
from postroom.smtpd import MailServer, Protocol, Received, Reception
from postroom.smtpd.server import Place

AT_ONCE = 4
"""Messages that are read at the same time; each may be as large as `READ`."""

_BODY = re.compile(rb"\r?\n\r?\n")
_PATH = re.compile(rb"^return-path:", re.IGNORECASE | re.MULTILINE)


def server(
    taker: Taker,
    protocol: Protocol,
    place: Place,
    *,
    takes: Callable[[str], bool],
    tell: Callable[[Taken], None] = lambda _: None,
) -> MailServer:
    """A server that takes mail to these addresses in, and tells of each message."""
    turn = asyncio.Semaphore(AT_ONCE)

    async def keep(received: Received) -> str:
        path = return_path(received)
        async with turn:
            taken = await asyncio.to_thread(
                taker.take,
                path + received.content,
                size=len(path) + received.size,
                delivered_to=received.recipients,
            )
        try:
            tell(taken)
        except OSError as error:  # it is in the database: a full disk behind the report must not bring it here again
            logger.warning("what was taken in cannot be told", error=type(error).__name__)
        return "250 2.0.0 known already" if taken.duplicate else "250 2.0.0 taken in"

    return MailServer(Reception(protocol=protocol, takes=takes, keep=keep, kept=READ), place)


def return_path(received: Received) -> bytes:
    """The line that tells the envelope's sender, as whoever delivers a message writes it; empty where it has one.

    That nobody sent a message may be the only sign that no person did.
    """
    headers = _BODY.split(received.content[:HEADERS], maxsplit=1)[0]
    return b"" if _PATH.search(headers) else f"Return-Path: <{received.sender}>\r\n".encode()


def taking(settings: Settings, domains: Sequence[str] = ()) -> Callable[[str], bool]:
    """Which addresses are taken: the return addresses, with whatever behind a plus, and everybody at these domains."""
    ours = {_lowered(checked_return_address(address)) for address in settings.return_addresses()}
    wanted = {domain.lower().lstrip("@") for domain in domains}
    if not ours and not wanted:
        raise ConfigurationError(
            "it is not known whose mail to take: set POSTROOM_RETURN_ADDRESS, such as bounces@example.org, "
            "or name a domain with --accept-domain"
        )

    def takes(address: str) -> bool:
        local, at, domain = address.lower().rpartition("@")
        return bool(at and local) and (domain in wanted or (local.partition("+")[0], domain) in ours)

    return takes


def _lowered(parts: tuple[str, str]) -> tuple[str, str]:
    return parts[0].lower(), parts[1].lower()

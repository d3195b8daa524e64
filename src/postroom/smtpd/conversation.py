"""One conversation with a client that hands over messages, in SMTP (RFC 5321) or LMTP (RFC 2033).

A message is taken when `Reception.keep` has said so, and not before: a client that hears 250 may forget it. Whatever
else happens, the client keeps it and tries again. No mail is taken that is not for here: this is no relay.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum

from postroom.logs import logger
from postroom.smtpd.wire import Wire

_PATH = re.compile(rb"(FROM|TO):\s*<([^<>\r\n\0]{0,998})>(.*)", re.IGNORECASE | re.DOTALL)
_SIZE = re.compile(rb"\sSIZE=(\d{1,18})(?:\s|$)", re.IGNORECASE)

SORRY = "451 4.3.0 it cannot be kept just now; please try again later"
_TOO_LARGE = "552 5.3.4 the message is too large"
_OK = "250 2.0.0 Ok"


class Protocol(StrEnum):
    """What is spoken."""

    SMTP = "smtp"
    LMTP = "lmtp"


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """A message as it came in."""

    sender: str
    """Empty for the null sender, as bounces have it."""
    recipients: tuple[str, ...]
    content: bytes
    """The message, or the beginning of a long one."""
    size: int
    """Octets of the whole, as it went over the wire."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reception:
    """What all conversations of a server have in common."""

    protocol: Protocol
    takes: Callable[[str], bool]
    """Whether mail to an address is for here."""
    keep: Callable[[Received], Awaitable[str]]
    """Has the message for good when it returns what to say, such as `250 2.0.0 taken`; raises to have it come again."""
    name: str = "postroom"
    kept: int = 10_000_000
    """Octets of a message that `keep` is given …"""
    largest: int = 50_000_000
    """… and those from which on it is refused."""
    patience: float = 120.0
    """Seconds to wait for a command."""
    message_patience: float = 600.0
    """Seconds for a whole message."""
    most_recipients: int = 1_000


class _Over(Exception):
    """The conversation ends here."""


class Conversation:
    """Reads commands and answers them until one side leaves."""

    def __init__(self, reception: Reception, wire: Wire) -> None:
        self._reception = reception
        self._wire = wire
        self._greeted = False
        self._reset()

    async def run(self) -> None:
        """Converse. However it ends, what was answered with 250 is kept."""
        try:
            await self._wire.say(f"220 {self._reception.name} {self._reception.protocol.upper()}")
            while True:
                async with asyncio.timeout(self._reception.patience):
                    line = await self._wire.line()
                await self._command(line)
        except TimeoutError:
            await self._last_words("421 4.4.2 nothing was said for too long")
        except OverflowError:
            await self._last_words("500 5.5.2 the line is too long")
        except (_Over, EOFError, OSError):
            pass

    async def _last_words(self, words: str) -> None:
        try:
            async with asyncio.timeout(1):
                await self._wire.say(words)
        except (OSError, TimeoutError):
            pass  # nobody listens any more

    def _reset(self) -> None:
        self._sender: str | None = None
        self._recipients: list[str] = []

    async def _command(self, line: bytes) -> None:
        verb, _, argument = line.partition(b" ")
        match verb.upper():
            case b"LHLO" | b"EHLO" | b"HELO":
                await self._hello(verb.upper())
            case b"MAIL":
                await self._mail(argument)
            case b"RCPT":
                await self._rcpt(argument)
            case b"DATA":
                await self._data()
            case b"RSET":
                self._reset()
                await self._wire.say(_OK)
            case b"NOOP":
                await self._wire.say(_OK)
            case b"VRFY":
                await self._wire.say("252 2.5.2 send some mail, and see")
            case b"QUIT":
                await self._wire.say("221 2.0.0 Bye")
                raise _Over
            case _:
                await self._wire.say("500 5.5.2 unknown command")

    async def _hello(self, verb: bytes) -> None:
        if (verb == b"LHLO") != (self._reception.protocol is Protocol.LMTP):
            await self._wire.say(f"500 5.5.1 {self._reception.protocol.upper()} is spoken here")
            return
        self._greeted = True
        self._reset()
        if verb == b"HELO":
            await self._wire.say(f"250 {self._reception.name}")
            return
        offers = ("PIPELINING", f"SIZE {self._reception.largest}", "8BITMIME", "SMTPUTF8", "ENHANCEDSTATUSCODES")
        lines = (self._reception.name, *offers)
        await self._wire.say(*[f"250-{line}" for line in lines[:-1]], f"250 {lines[-1]}")

    async def _mail(self, argument: bytes) -> None:
        path = _PATH.fullmatch(argument)
        if not self._greeted:
            await self._wire.say("503 5.5.1 say hello first")
        elif self._sender is not None:
            await self._wire.say("503 5.5.1 one sender at a time")
        elif path is None or path[1].upper() != b"FROM":
            await self._wire.say("501 5.5.4 MAIL FROM:<address> is expected")
        elif (size := _SIZE.search(path[3])) is not None and int(size[1]) > self._reception.largest:
            await self._wire.say(_TOO_LARGE)
        else:
            self._sender = path[2].decode("utf-8", "replace")
            await self._wire.say("250 2.1.0 Ok")

    async def _rcpt(self, argument: bytes) -> None:
        path = _PATH.fullmatch(argument)
        if self._sender is None:
            await self._wire.say("503 5.5.1 MAIL first")
        elif path is None or path[1].upper() != b"TO":
            await self._wire.say("501 5.5.4 RCPT TO:<address> is expected")
        elif len(self._recipients) >= self._reception.most_recipients:
            await self._wire.say("452 4.5.3 too many recipients")
        elif not self._reception.takes(address := path[2].decode("utf-8", "replace")):
            await self._wire.say("550 5.7.1 mail to this address is not taken here")
        else:
            self._recipients.append(address)
            await self._wire.say("250 2.1.5 Ok")

    async def _data(self) -> None:
        if self._sender is None or not self._recipients:
            await self._wire.say("503 5.5.1 MAIL and RCPT first")
            return
        await self._wire.say("354 go ahead, and end with a dot")
        async with asyncio.timeout(self._reception.message_patience):
            heard = await self._wire.message(kept=self._reception.kept, largest=self._reception.largest)
        sender, recipients = self._sender, tuple(self._recipients)
        self._reset()
        reply = _TOO_LARGE
        if heard is not None:
            content, size = heard
            reply = await self._kept(Received(sender=sender, recipients=recipients, content=content, size=size))
        # LMTP has an answer for each recipient; what becomes of a message is the same for all of them.
        await self._wire.say(*[reply] * (len(recipients) if self._reception.protocol is Protocol.LMTP else 1))

    async def _kept(self, received: Received) -> str:
        try:
            return await self._reception.keep(received)
        except Exception as error:  # noqa: BLE001  whatever it is, the client still has the message
            logger.warning("a message could not be kept", error=type(error).__name__)
            return SORRY

"""From nothing to a connection that is ready for MAIL: TCP, greeting, TLS, EHLO, AUTH."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
import ssl
from dataclasses import dataclass, field
from functools import lru_cache, partial

from postroom.errors import ConfigurationError
from postroom.send.contract import Fault, FaultKind, Phase, Reply
from postroom.send.smtp.authentication import authenticate, choose_mechanism
from postroom.send.smtp.capabilities import Capabilities, parse_capabilities
from postroom.send.smtp.replies import Lines, code_of, make_reply
from postroom.send.smtp.server import Server, StartTls
from postroom.send.smtp.sign_in import SignIns
from postroom.send.smtp.wire import Ended, Wire


@dataclass(slots=True, kw_only=True)
class Opening:
    """How far an opening came. With neither `refusal` nor `fault`, `wire` is ready for MAIL."""

    wire: Wire | None = None
    capabilities: Capabilities = field(default_factory=Capabilities)
    last: Reply | None = None
    """The last good reply."""
    refusal: Reply | None = None
    fault: Fault | None = None
    greeted: bool = False
    milliseconds: dict[str, float] = field(default_factory=dict)


class _Refused(Exception):
    """The server answered, with a no."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines


def trust(server: Server) -> ssl.SSLContext:
    """The TLS settings: certificates and host names are always verified, by `ca` where it is given."""
    if server.ca is None:
        return _system_trust()
    try:
        return ssl.create_default_context(cafile=server.ca)
    except OSError as error:
        raise ConfigurationError(f"SMTP option 'ca': cannot read certificates from {server.ca!r}: {error}") from error


@lru_cache(maxsize=1)
def _system_trust() -> ssl.SSLContext:
    """Made once: reading all the authorities of a system takes tens of milliseconds."""
    return ssl.create_default_context()


async def open_session(server: Server, context: ssl.SSLContext, sign_ins: SignIns) -> Opening:
    """Connect, and say what came of it. Never raises for what the network or the server did.

    Cancelled, or failed, it leaves no connection behind.
    """
    session = _Session(server, context, sign_ins)
    opening = session.opening
    try:
        await session.run()
    except _Refused as refused:
        opening.refusal = make_reply(session.phase, refused.lines)
    except Ended as ended:
        opening.fault = Fault(phase=session.phase, kind=ended.kind, text=ended.text)
    finally:
        session.note_time()
        if not session.finished and opening.wire is not None:
            opening.wire.end(FaultKind.CUT, "closed by us")
    return opening


class _Session:
    def __init__(self, server: Server, context: ssl.SSLContext, sign_ins: SignIns) -> None:
        self.server = server
        self.context = context
        self.sign_ins = sign_ins
        self.refusals = sign_ins.refusals
        self.opening = Opening()
        self.phase = Phase.CONNECT
        self.finished = False
        self._loop = asyncio.get_running_loop()
        self._since = self._loop.time()

    async def run(self) -> None:
        server = self.server
        wire = self.opening.wire = await self._connect()
        if server.implicit_tls:
            self._enter(Phase.TLS)
            await wire.start_tls(self.context, server.host, server.limits.command)
        self._enter(Phase.GREETING)
        wire.allow(server.limits.greeting)
        self._expect(220, await wire.reply())
        self.opening.greeted = True
        self._enter(Phase.HELLO)
        await self._hello(wire)
        if self._wants_starttls():
            self._enter(Phase.TLS)
            await self._starttls(wire)
            self._enter(Phase.HELLO)
            await self._hello(wire)
        if server.user is not None:
            self._enter(Phase.AUTH)
            mechanism = choose_mechanism(server, self.opening.capabilities, secure=wire.secure)
            ask = partial(authenticate, wire, server, mechanism)
            self._expect(235, await self.sign_ins.sign_in(ask, since=self.refusals))
        self.finished = True

    def note_time(self) -> None:
        now = self._loop.time()
        spent = self.opening.milliseconds
        spent[self.phase.value] = spent.get(self.phase.value, 0.0) + (now - self._since) * 1000
        self._since = now

    def _enter(self, phase: Phase) -> None:
        self.note_time()
        self.phase = phase

    def _expect(self, code: int, lines: Lines) -> None:
        said = code_of(lines)
        if said == code:
            self.opening.last = make_reply(self.phase, lines)
        elif said >= 400:
            raise _Refused(lines)
        else:
            reply = make_reply(self.phase, lines)
            raise Ended(FaultKind.PROTOCOL, f"expected {code} and the server said {reply}")

    async def _connect(self) -> Wire:
        server = self.server
        try:
            async with asyncio.timeout(server.limits.connect):
                _, wire = await self._loop.create_connection(
                    lambda: Wire(self._loop), server.host, server.port, happy_eyeballs_delay=_head_start(server.host)
                )
        except TimeoutError as error:
            text = f"no connection to {server.name} within {server.limits.connect:g} s"
            raise Ended(FaultKind.TIMEOUT, text) from error
        except (OSError, UnicodeError) as error:
            raise Ended(FaultKind.REFUSED, f"{server.name}: {_reason(error)}") from error
        return wire

    async def _hello(self, wire: Wire) -> None:
        """EHLO, or HELO where the server does not know better. What was known before is forgotten first."""
        self.opening.capabilities = Capabilities()
        name = (self.server.helo or _our_name(wire)).encode()
        wire.write(b"EHLO %b\r\n" % name, replies=1, limit=self.server.limits.command)
        lines = await wire.reply()
        if code_of(lines) // 100 == 5:
            wire.write(b"HELO %b\r\n" % name, replies=1, limit=self.server.limits.command)
            self._expect(250, await wire.reply())
            return
        self._expect(250, lines)
        self.opening.capabilities = parse_capabilities(lines)

    def _wants_starttls(self) -> bool:
        if self.server.implicit_tls or self.server.starttls is StartTls.OFF:
            return False
        return self.opening.capabilities.starttls or self.server.starttls is StartTls.REQUIRED

    async def _starttls(self, wire: Wire) -> None:
        limit = self.server.limits.command
        if not self.opening.capabilities.starttls:
            raise Ended(FaultKind.TLS, "the settings require STARTTLS and the server does not offer it")
        wire.write(b"STARTTLS\r\n", replies=1, limit=limit)
        self._expect(220, await wire.reply())
        await wire.start_tls(self.context, self.server.host, limit)


def _head_start(host: str) -> float | None:
    """Seconds for one of a name's addresses before the next is tried beside it; an address has no other."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return 0.25
    return None


def _our_name(wire: Wire) -> str:
    """This machine's name when it is a full one, else the address it speaks from; asks no name server."""
    name = socket.gethostname()
    if "." in name and name.isascii():
        return name
    address = wire.local_address()
    return f"[IPv6:{address}]" if ":" in address else f"[{address}]"


def _reason(error: Exception) -> str:
    """What the system says about a connection that could not be had, without asyncio's words around it."""
    number = getattr(error, "errno", None)
    if isinstance(error, socket.gaierror) or not isinstance(number, int) or number <= 0:
        return str(error)
    return os.strerror(number)
